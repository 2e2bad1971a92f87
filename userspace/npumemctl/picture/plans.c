// SPDX-License-Identifier: MIT
/*
 * The table of all plans of a page, and of those that planners have refused. The page's script lets
 * one choose there which two are drawn (plans.js).
 */
#include <inttypes.h>

#include "picture.h"

static void write_heads(FILE *out)
{
	static const char *const heads[] = {
		"left",	 "right",	 "plan",  "planner", "arena",
		"bound", "of the bound", "moved", "steps",   "status"
	};

	fputs("<table class=\"plans\"><thead><tr>", out);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		fprintf(out, "<th scope=\"col\">%s</th>", heads[i]);
	fputs("</tr></thead>\n<tbody>\n", out);
}

static void write_choice(FILE *out, const char *side, unsigned int plan, bool is_chosen)
{
	fprintf(out,
		"<td><input type=\"radio\" name=\"%s\" value=\"%u\" aria-label=\"%s: plan %u\"%s/></td>",
		side, plan, side, plan + 1, is_chosen ? " checked=\"checked\"" : "");
}

static void write_cell(FILE *out, const char *text)
{
	fputs("<td>", out);
	picture_write_text(out, text);
	fputs("</td>", out);
}

/* Hundredths of what no plan of that order needs less than. */
static void write_ratio(FILE *out, const struct npumem_plan_info *info)
{
	fputs("<td class=\"number\">", out);
	if (info->lower_bound)
		fprintf(out, "%.3f", (double)info->arena_size / (double)info->lower_bound);
	fputs("</td>", out);
}

static void write_number(FILE *out, uint64_t number)
{
	fprintf(out, "<td class=\"number\">%" PRIu64 "</td>", number);
}

static void write_row(FILE *out, const struct picture *picture, unsigned int plan,
		      unsigned int count)
{
	const struct npumem_plan_info *info = &picture->plan->info;
	uint64_t moved = 0;

	for (uint32_t p = 0; p < picture->plan->position_count; p++)
		if (picture->plan->positions[p].kind != NPUMEM_POSITION_STEP &&
		    picture->plan->positions[p].kind != NPUMEM_POSITION_DROP)
			moved += picture->plan->positions[p].length;
	fputs("<tr>", out);
	write_choice(out, "left", plan, !plan);
	write_choice(out, "right", plan, plan == (count > 1));
	write_cell(out, picture->name);
	write_cell(out, info->planner);
	write_number(out, info->arena_size);
	write_number(out, info->lower_bound);
	write_ratio(out, info);
	write_number(out, moved);
	write_number(out, picture->graph->step_count);
	write_cell(out, npuplan_status_name(info->status));
	fputs("</tr>\n", out);
}

void picture_write_plans(FILE *out, const struct picture_page *page)
{
	if (page->count < 3 && !page->refusal_count)
		return;
	fputs("<section id=\"plans\" aria-label=\"all plans\">\n", out);
	write_heads(out);
	for (unsigned int i = 0; i < page->count; i++)
		write_row(out, &page->pictures[i], i, page->count);
	for (unsigned int i = 0; i < page->refusal_count; i++) {
		fputs("<tr class=\"refused\"><td></td><td></td><td></td>", out);
		write_cell(out, page->refusals[i].planner);
		fputs("<td colspan=\"6\">", out);
		picture_write_text(out, page->refusals[i].why);
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody></table>\n</section>\n", out);
}
