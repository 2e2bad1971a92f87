// SPDX-License-Identifier: MIT
/*
 * The page around the pictures: one file that asks the network for nothing, light
 * or dark, zoomed by wheel or keyboard. Well-formed XML as well as HTML.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"
#include "picture_files.h"

#define NAMED 16

static int by_peak(const void *left, const void *right)
{
	const struct picture_placement *a = left, *b = right;

	if (a->peak_bytes != b->peak_bytes)
		return a->peak_bytes > b->peak_bytes ? -1 : 1;
	return a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

/* The list of tensors that make the peak, largest first. */
static void write_peak_table(FILE *out, const struct picture *picture)
{
	struct picture_placement *list = malloc(picture->placement_count * sizeof(*list) + 1);
	uint32_t rest = 0;

	if (!list || !picture->plan->position_count) {
		free(list);
		return;
	}
	memcpy(list, picture->placements, picture->placement_count * sizeof(*list));
	if (picture->placement_count)
		qsort(list, picture->placement_count, sizeof(*list), by_peak);
	fprintf(out, "<p>%" PRIu64 " bytes live at step ", picture->peak_bytes);
	picture_write_position(out, picture, picture->peak / 2);
	fputs(":</p>\n<table class=\"peak-table\"><tbody>\n", out);
	for (uint32_t i = 0; i < picture->placement_count && list[i].peak_bytes; i++) {
		if (i >= NAMED) {
			rest++;
			continue;
		}
		fprintf(out, "<tr><td>%" PRIu64 "</td><td>", list[i].peak_bytes);
		picture_write_tensor(out, picture, list[i].tensor);
		fputs("</td></tr>\n", out);
	}
	if (rest)
		fprintf(out, "<tr><td>...</td><td>and %" PRIu32 " more</td></tr>\n", rest);
	fputs("</tbody></table>\n", out);
	free(list);
}

static void write_section(FILE *out, const struct picture *picture)
{
	fputs("<section>\n<h2>", out);
	picture_write_text(out, picture->name);
	fputs("</h2>\n", out);
	picture_write_panel(out, picture);
	write_peak_table(out, picture);
	fprintf(out, "<p>%" PRIu32 " places, %" PRIu32 " ranges of bytes with one live range",
		picture->placement_count, picture->box_total);
	if (picture->box_count < picture->box_total)
		fprintf(out, ", neighbours joined to %" PRIu32 " boxes", picture->box_count);
	fputs(".</p>\n</section>\n", out);
}

void picture_write_html(FILE *out, const struct picture_page *page)
{
	struct picture *pictures = page->pictures;
	unsigned int count = page->count;

	picture_same_height(pictures, count);
	fputs("<!DOCTYPE html>\n"
	      "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
	      "<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
	      out);
	picture_write_text(out, count ? pictures[0].graph->name : "");
	fputs(": memory plan</title>\n<style>\n" PICTURE_COLOURS_CSS
		      PICTURE_BOXES_CSS PICTURE_PAGE_CSS "</style>\n</head>\n<body>\n",
	      out);
	fputs(PICTURE_PAGE_HTML, out);
	picture_write_plans(out, page);
	fputs("<main>\n", out);
	for (unsigned int i = 0; i < count; i++)
		write_section(out, &pictures[i]);
	fputs("</main>\n<div id=\"drawer\"></div>\n<div id=\"info\" role=\"status\"></div>\n"
	      "<script type=\"application/json\" id=\"data\">\n",
	      out);
	picture_write_data(out, pictures, count);
	/* As XML it is text, whatever it has in it. */
	fputs("</script>\n<script>//<![CDATA[\n" PICTURE_PAGE_JS PICTURE_SELECT_JS
		      PICTURE_COMPARE_JS PICTURE_PLANS_JS PICTURE_KEYS_JS
	      "//]]></script>\n</body>\n</html>\n",
	      out);
}
