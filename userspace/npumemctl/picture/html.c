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
	"svg.plan { width: 100%; height: auto; max-height: 80vh; font: 12px sans-serif; touch-action: none; }\n"
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
	".peak-only .names { opacity: .3; }\n"
	".near .thin { stroke: var(--back); stroke-width: .3; }\n" PICTURE_STYLE
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
	"const X = 90, Y = 50, W = 890, H = 500, NS = 'http://www.w3.org/2000/svg';\n"
	"const frames = plans.map(p => p.querySelector('svg.view'));\n"
	"const views = plans.map(() => [X, Y, W, H]);\n"
	"const drawn = plans.map(p => ['axes', 'names'].map(c => p.querySelector('.' + c)).map(g => [g, g.innerHTML]));\n"
	"const boxes = plans.map(p => [...p.querySelectorAll('.tensor')].map(t => {\n"
	"  const r = t.querySelector('rect.hull');\n"
	"  return [t.getAttribute('aria-label'), ...['x', 'y', 'width', 'height'].map(a => Number(r.getAttribute(a)))];\n"
	"}));\n"
	"function add(g, name, attributes, text) {\n"
	"  const e = document.createElementNS(NS, name);\n"
	"  for (const a of Object.keys(attributes)) e.setAttribute(a, attributes[a]);\n"
	"  if (text !== undefined) e.textContent = text;\n"
	"  g.append(e);\n"
	"}\n"
	"function bytes(n) {\n"
	"  const unit = n === 0 ? 0 : Math.min(4, Math.floor(Math.log2(n) / 10));\n"
	"  return Number((n / 1024 ** unit).toFixed(2)) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit];\n"
	"}\n"
	"/* Ticks of what is seen: few, and where they were on the whole. */\n"
	"function axes(g, v, height, steps) {\n"
	"  const low = (Y + H - v[1] - v[3]) / H * height, high = (Y + H - v[1]) / H * height;\n"
	"  const by = Math.max(1, 2 ** Math.ceil(Math.log2((high - low) / 8)));\n"
	"  for (let b = Math.ceil(Math.max(0, low) / by) * by; Math.min(high, height) >= b; b += by) {\n"
	"    const y = Y + (Y + H - b / height * H - v[1]) / v[3] * H;\n"
	"    add(g, 'path', { class: 'grid', d: 'M' + X + ' ' + y + 'h' + W });\n"
	"    add(g, 'text', { class: 'y', x: X - 6, y: y + 4 }, bytes(b));\n"
	"  }\n"
	"  const from = (v[0] - X) / W * steps, to = from + v[2] / W * steps;\n"
	"  let each = 1;\n"
	"  for (let i = 0; (to - from) / each > 12; i++) each = i % 3 === 1 ? each / 2 * 5 : each * 2;\n"
	"  for (let p = Math.ceil(Math.max(0, from) / each) * each; Math.min(to, steps - 1) >= p; p += each)\n"
	"    add(g, 'text', { class: 'x', x: X + (X + p / steps * W - v[0]) / v[2] * W, y: Y + H + 16 }, p);\n"
	"}\n"
	"/* Names of the boxes that are seen and have room for one, across or upwards. */\n"
	"function names(g, v, list) {\n"
	"  const zoom = W / v[2], taken = [];\n"
	"  for (const [name, bx, by, bw, bh] of list) {\n"
	"    const left = Math.max(X, X + (bx - v[0]) * zoom), right = Math.min(X + W, X + (bx + bw - v[0]) * zoom);\n"
	"    const top = Math.max(Y, Y + (by - v[1]) * zoom), bottom = Math.min(Y + H, Y + (by + bh - v[1]) * zoom);\n"
	"    const w = right - left, h = bottom - top;\n"
	"    const across = h >= 12 ? Math.floor(Math.max(0, w) / 5.6) : 0, up = w >= 12 ? Math.floor(Math.max(0, h) / 5.6) : 0;\n"
	"    const upwards = name.length > across ? up > across : false, room = upwards ? up : across;\n"
	"    if (name.length > room ? 4 > room : false) continue;\n"
	"    const text = name.length > room ? '\\u2026' + name.slice(1 - room) : name;\n"
	"    const x = (left + right) / 2, y = (top + bottom) / 2, long = text.length * 2.8;\n"
	"    const area = upwards ? [x - 6, y - long, x + 6, y + long] : [x - long, y - 6, x + long, y + 6];\n"
	"    if (taken.some(a => [a[2] > area[0], area[2] > a[0], a[3] > area[1], area[3] > a[1]].every(Boolean))) continue;\n"
	"    taken.push(area);\n"
	"    add(g, 'text', upwards ? { class: 'name', transform: 'translate(' + (x + 3.5) + ' ' + y + ') rotate(-90)' } :\n"
	"      { class: 'name', x: x, y: y + 3.5 }, text);\n"
	"  }\n"
	"}\n"
	"function show(i) {\n"
	"  const v = views[i], p = plans[i], whole = v[2] === W;\n"
	"  v[0] = Math.min(Math.max(v[0], X), X + W - v[2]); v[1] = Math.min(Math.max(v[1], Y), Y + H - v[3]);\n"
	"  frames[i].setAttribute('viewBox', v.join(' '));\n"
	"  p.classList.toggle('near', W / v[2] > 4);\n"
	"  for (const [g, home] of drawn[i]) if (whole) g.innerHTML = home; else g.replaceChildren();\n"
	"  if (!whole) {\n"
	"    axes(drawn[i][0][0], v, Number(p.dataset.bytes), Number(p.dataset.steps));\n"
	"    names(drawn[i][1][0], v, boxes[i]);\n"
	"  }\n"
	"  for (const level of p.querySelectorAll('.levels')) {\n"
	"    const at = Y + H - Number(level.dataset.byte) / Number(p.dataset.bytes) * H, y = Y + (at - v[1]) / v[3] * H;\n"
	"    level.setAttribute('transform', 'translate(0 ' + (y - at) + ')');\n"
	"    level.style.display = y > Y + H ? 'none' : y > Y - 1 ? '' : 'none';\n"
	"  }\n"
	"}\n"
	"function zoom(i, by, x, y) {\n"
	"  const v = views[i];\n"
	"  if (v[2] * by >= W) { views[i] = [X, Y, W, H]; show(i); return; }\n"
	"  v[0] = x - (x - v[0]) * by; v[1] = y - (y - v[1]) * by; v[2] *= by; v[3] *= by; show(i);\n"
	"}\n"
	"function zoomAll(by) { plans.forEach((p, i) => zoom(i, by, views[i][0] + views[i][2] / 2, views[i][1] + views[i][3] / 2)); }\n"
	"function moveAll(x, y) { plans.forEach((p, i) => { views[i][0] += x * views[i][2]; views[i][1] += y * views[i][3]; show(i); }); }\n"
	"function reset() { plans.forEach((p, i) => { views[i] = [X, Y, W, H]; show(i); }); }\n"
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
	"  /* In the units of what is in view. */\n"
	"  function place(e) {\n"
	"    const at = new DOMPoint(e.clientX, e.clientY).matrixTransform(p.getScreenCTM().inverse()), v = views[i];\n"
	"    return { x: v[0] + (at.x - X) / W * v[2], y: v[1] + (at.y - Y) / H * v[3] };\n"
	"  }\n"
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
	      "purple: the step at which most bytes live. Pale: what a step writes has its place from the "
	      "step's beginning, but lives from its second half on; loads end with the first.</p>\n<main>\n",
	      out);
	for (unsigned int i = 0; i < count; i++)
		write_section(out, &pictures[i]);
	fprintf(out,
		"</main>\n<div id=\"info\" role=\"status\"></div>\n<script>\n%s</script>\n</body>\n</html>\n",
		script);
}
