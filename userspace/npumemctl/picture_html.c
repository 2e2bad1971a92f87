// SPDX-License-Identifier: MIT
/*
 * The page around the pictures: one file that asks the network for nothing, light
 * or dark, zoomed by wheel or keyboard. Well-formed XML as well as HTML.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

#define NAMED 16

static const char style[] =
	":root { color-scheme: light dark; --back: #fff; --ink: #222; --faint: #ddd; --mark: #06c; }\n"
	"@media (prefers-color-scheme: dark) { :root { --back: #16181c; --ink: #ddd; --faint: #333; --mark: #7bf; } }\n"
	":root.light { color-scheme: light; --back: #fff; --ink: #222; --faint: #ddd; --mark: #06c; }\n"
	":root.dark { color-scheme: dark; --back: #16181c; --ink: #ddd; --faint: #333; --mark: #7bf; }\n"
	"body { margin: 1em; background: var(--back); color: var(--ink); font: 14px sans-serif; }\n"
	"main { display: flex; flex-wrap: wrap; gap: 1em; }\n"
	"section { flex: 1 1 560px; min-width: 0; }\n"
	"svg { width: 100%; height: auto; max-height: 80vh; font: 12px sans-serif; touch-action: none; }\n"
	".plot { fill: var(--back); stroke: var(--ink); }\n"
	"text { fill: var(--ink); }\n"
	".y { text-anchor: end; } .x { text-anchor: middle; } .heading { font-weight: bold; }\n"
	".grid { stroke: var(--faint); }\n"
	"path, rect { vector-effect: non-scaling-stroke; }\n"
	".hull { fill-opacity: .15; stroke: var(--ink); stroke-width: .5; }\n"
	".tile { stroke: var(--back); stroke-width: .3; }\n"
	".tensor:hover .hull, .tensor:focus .hull { fill-opacity: .45; stroke: var(--mark); stroke-width: 2; }\n"
	".tensor:focus { outline: none; }\n"
	".peak-only .tensor:not(.peak) { opacity: .15; }\n"
	".arena { stroke: #a020c0; stroke-width: 1.5; stroke-dasharray: 3 3; }\n"
	".bound { stroke: #d07000; stroke-dasharray: 8 4; }\n"
	".peak-step { fill: #a020c0; fill-opacity: .3; pointer-events: none; }\n"
	"#info { position: fixed; right: 1em; bottom: 1em; max-width: 40em; padding: .5em 1em; white-space: pre-line;\n"
	"  background: var(--back); border: 1px solid var(--ink); pointer-events: none; }\n"
	"#info:empty { display: none; }\n"
	"button { font: inherit; } kbd { border: 1px solid var(--faint); padding: 0 .3em; }\n"
	"td { padding: 0 1em 0 0; } td:first-child { text-align: right; }\n"
	".square { display: inline-block; width: .8em; height: .8em; }\n";

/* Neither "<" nor "&" in it, so that it reads the same as XML. */
static const char script[] =
	"'use strict';\n"
	"const root = document.documentElement, info = document.getElementById('info');\n"
	"const plans = [...document.querySelectorAll('svg.plan')];\n"
	"const homes = plans.map(p => p.getAttribute('viewBox').split(' ').map(Number));\n"
	"const views = homes.map(h => [...h]);\n"
	"function show(i) { plans[i].setAttribute('viewBox', views[i].join(' ')); }\n"
	"function zoom(i, by, x, y) {\n"
	"  const v = views[i];\n"
	"  if (v[2] * by > 1000) { views[i] = [...homes[i]]; show(i); return; }\n"
	"  v[0] = x - (x - v[0]) * by; v[1] = y - (y - v[1]) * by; v[2] *= by; v[3] *= by; show(i);\n"
	"}\n"
	"function zoomAll(by) { plans.forEach((p, i) => zoom(i, by, views[i][0] + views[i][2] / 2, views[i][1] + views[i][3] / 2)); }\n"
	"function moveAll(x, y) { plans.forEach((p, i) => { views[i][0] += x * views[i][2]; views[i][1] += y * views[i][3]; show(i); }); }\n"
	"function reset() { plans.forEach((p, i) => { views[i] = [...homes[i]]; show(i); }); }\n"
	"function theme() {\n"
	"  const dark = root.classList.contains('dark') ||\n"
	"    (!root.classList.contains('light') ? matchMedia('(prefers-color-scheme: dark)').matches : false);\n"
	"  root.classList.toggle('dark', !dark); root.classList.toggle('light', dark);\n"
	"}\n"
	"function peak() { root.classList.toggle('peak-only'); }\n"
	"function step(by) {\n"
	"  const all = [...document.querySelectorAll('.tensor')], at = all.indexOf(document.activeElement);\n"
	"  if (all.length) all[(Math.max(at, by > 0 ? -1 : 0) + by + all.length) % all.length].focus();\n"
	"}\n"
	"function describe(element) {\n"
	"  const tensor = element.closest ? element.closest('.tensor') : null;\n"
	"  if (!tensor) return '';\n"
	"  const own = element.querySelector(':scope > title'), all = tensor.querySelector(':scope > title');\n"
	"  return all.textContent + (own ? (own === all ? '' : '\\n\\ntile:' + own.textContent.slice(own.textContent.indexOf('\\n'))) : '');\n"
	"}\n"
	"plans.forEach((p, i) => {\n"
	"  let drag = null;\n"
	"  function place(e) { const m = p.getScreenCTM().inverse(); return new DOMPoint(e.clientX, e.clientY).matrixTransform(m); }\n"
	"  p.addEventListener('wheel', e => { e.preventDefault(); const at = place(e); zoom(i, e.deltaY > 0 ? 1.25 : 0.8, at.x, at.y); }, { passive: false });\n"
	"  p.addEventListener('pointerdown', e => { drag = place(e); });\n"
	"  p.addEventListener('pointerup', () => { drag = null; });\n"
	"  p.addEventListener('pointerleave', () => { drag = null; info.textContent = ''; });\n"
	"  p.addEventListener('pointermove', e => {\n"
	"    if (drag) { const at = place(e); views[i][0] += drag.x - at.x; views[i][1] += drag.y - at.y; show(i); }\n"
	"    else info.textContent = describe(e.target);\n"
	"  });\n"
	"  p.addEventListener('focusin', e => { info.textContent = describe(e.target); });\n"
	"  p.addEventListener('focusout', () => { info.textContent = ''; });\n"
	"});\n"
	"const keys = {\n"
	"  '+': () => zoomAll(0.8), '=': () => zoomAll(0.8), '-': () => zoomAll(1.25), '0': reset,\n"
	"  ArrowLeft: () => moveAll(-0.1, 0), ArrowRight: () => moveAll(0.1, 0),\n"
	"  ArrowUp: () => moveAll(0, -0.1), ArrowDown: () => moveAll(0, 0.1),\n"
	"  n: () => step(1), p: () => step(-1), m: peak, t: theme,\n"
	"};\n"
	"addEventListener('keydown', e => {\n"
	"  if (e.ctrlKey || e.altKey || e.metaKey || !keys[e.key]) return;\n"
	"  e.preventDefault(); keys[e.key]();\n"
	"});\n"
	"for (const [id, action] of [['in', keys['+']], ['out', keys['-']], ['reset', reset], ['peak', peak], ['theme', theme]])\n"
	"  document.getElementById(id).addEventListener('click', action);\n";

static int by_peak(const void *left, const void *right)
{
	const struct picture_place *a = left, *b = right;

	if (a->peak_bytes != b->peak_bytes)
		return a->peak_bytes > b->peak_bytes ? -1 : 1;
	return a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

/* What makes the peak, largest first. */
static void write_peak_table(FILE *out, const struct picture *picture)
{
	struct picture_place *places = malloc(picture->place_count * sizeof(*places) + 1);
	uint32_t rest = 0;

	if (!places || !picture->plan->position_count) {
		free(places);
		return;
	}
	memcpy(places, picture->places, picture->place_count * sizeof(*places));
	if (picture->place_count)
		qsort(places, picture->place_count, sizeof(*places), by_peak);
	fprintf(out, "<p>%" PRIu64 " bytes live at step ", picture->peak_bytes);
	picture_write_position(out, picture, picture->peak / 2);
	fputs(":</p>\n<table class=\"peak-table\"><tbody>\n", out);
	for (uint32_t i = 0; i < picture->place_count && places[i].peak_bytes; i++) {
		if (i >= NAMED) {
			rest++;
			continue;
		}
		fprintf(out, "<tr><td>%" PRIu64 "</td><td>", places[i].peak_bytes);
		picture_write_tensor(out, picture, places[i].tensor);
		fputs("</td></tr>\n", out);
	}
	if (rest)
		fprintf(out, "<tr><td>...</td><td>and %" PRIu32 " more</td></tr>\n", rest);
	fputs("</tbody></table>\n", out);
	free(places);
}

static void write_section(FILE *out, const struct picture *picture)
{
	fputs("<section>\n<h2>", out);
	picture_write_text(out, picture->name);
	fputs("</h2>\n", out);
	picture_write_panel(out, picture);
	write_peak_table(out, picture);
	fprintf(out, "<p>%" PRIu32 " places, %" PRIu32 " ranges of bytes with one live range",
		picture->place_count, picture->box_total);
	if (picture->box_count < picture->box_total)
		fprintf(out, ", neighbours joined to %" PRIu32 " boxes", picture->box_count);
	fputs(".</p>\n</section>\n", out);
}

void picture_write_html(FILE *out, struct picture *pictures, unsigned int count)
{
	picture_same_height(pictures, count);
	fputs("<!DOCTYPE html>\n"
	      "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
	      "<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
	      out);
	picture_write_text(out, count ? pictures[0].graph->name : "");
	fprintf(out, ": memory plan</title>\n<style>\n%s</style>\n</head>\n<body>\n", style);
	fputs("<p><button id=\"in\">zoom in</button> <button id=\"out\">zoom out</button> "
	      "<button id=\"reset\">whole</button> <button id=\"peak\">what makes the peak</button> "
	      "<button id=\"theme\">light or dark</button> keys: <kbd>+</kbd> <kbd>-</kbd> <kbd>0</kbd>, "
	      "arrows, <kbd>n</kbd> <kbd>p</kbd> next and previous tensor, <kbd>m</kbd> peak, "
	      "<kbd>t</kbd> light or dark; wheel and drag</p>\n"
	      "<p>Time goes across, arena offsets up. Dotted: top of the arena; dashed: lower bound; "
	      "purple: the step at which most bytes live.</p>\n<main>\n",
	      out);
	for (unsigned int i = 0; i < count; i++)
		write_section(out, &pictures[i]);
	fprintf(out,
		"</main>\n<div id=\"info\" role=\"status\"></div>\n<script>\n%s</script>\n</body>\n</html>\n",
		script);
}
