/* SPDX-License-Identifier: MIT */
/* Zooming of the pictures: axes, names, guides and the timeline of what is seen. */
'use strict';
const root = document.documentElement, info = document.getElementById('info');
const DATA = JSON.parse(document.getElementById('data').textContent);
const X = 90, Y = 50, W = 890, H = 500, NS = 'http://www.w3.org/2000/svg';
/* Where the timeline is, below the legend: bytes that live, and bytes that are moved, if there are any. */
const LIVE = { top: 642, height: 60 }, MOVED = { top: 710, height: 24 };
const KINDS = ['step', 'load', 'spill', 'fill', 'drop', 'store'];
const plans = [...document.querySelectorAll('svg.plan')].map((svg, i) => ({
  svg, data: DATA.plans[i], section: svg.closest('section'), frame: svg.querySelector('svg.view'),
  view: [X, Y, W, H], side: i,
  bytes: Number(svg.dataset.bytes), steps: Number(svg.dataset.steps),
  tensors: [...svg.querySelectorAll('.tensor')],
  drawn: ['axes', 'names'].map(c => svg.querySelector('.' + c)).map(g => [g, g.innerHTML]),
}));
for (const p of plans) {
  p.boxes = p.tensors.map(t => {
    const r = t.querySelector('rect.hull');
    return [t.getAttribute('aria-label'), ...['x', 'y', 'width', 'height'].map(a => Number(r.getAttribute(a)))];
  });
  p.moves = [];
  for (let i = 0; i < p.steps; i++) p.moves.push(KINDS[p.data.positions[3 * i]] === 'drop' ? 0 : p.data.positions[3 * i + 2]);
  p.most = p.moves.reduce((most, n) => Math.max(most, n), 0);
  p.bottom = p.most ? MOVED.top + MOVED.height : LIVE.top + LIVE.height;
  p.svg.setAttribute('viewBox', '0 0 1000 ' + (p.bottom + 6));
  p.timeline = add(p.svg, 'g', { class: 'timeline' });
  p.mark = add(p.svg, 'g', { class: 'mark' });
}
/* The plans that are drawn, the left one first. */
const shown = () => plans.filter(p => !p.section.hidden).sort((a, b) => a.side - b.side);

function add(g, name, attributes, text) {
  const e = document.createElementNS(NS, name);
  for (const a of Object.keys(attributes)) e.setAttribute(a, attributes[a]);
  if (text !== undefined) e.textContent = text;
  g.append(e);
  return e;
}
function bytes(n) {
  const unit = n === 0 ? 0 : Math.min(4, Math.floor(Math.log2(n) / 10));
  return Number((n / 1024 ** unit).toFixed(2)) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit];
}
/* Where half a position is, of what is seen. */
const across = (p, half) => X + (X + half / (2 * p.steps) * W - p.view[0]) / p.view[2] * W;
/* Ticks of what is seen: few, and where they were on the whole. */
function axes(g, p) {
  const v = p.view, low = (Y + H - v[1] - v[3]) / H * p.bytes, high = (Y + H - v[1]) / H * p.bytes;
  const by = Math.max(1, 2 ** Math.ceil(Math.log2((high - low) / 8)));
  for (let b = Math.ceil(Math.max(0, low) / by) * by; b <= Math.min(high, p.bytes); b += by) {
    const y = Y + (Y + H - b / p.bytes * H - v[1]) / v[3] * H;
    add(g, 'path', { class: 'grid', d: 'M' + X + ' ' + y + 'h' + W });
    add(g, 'text', { class: 'y', x: X - 6, y: y + 4 }, bytes(b));
  }
  const from = (v[0] - X) / W * p.steps, to = from + v[2] / W * p.steps;
  let each = 1;
  for (let i = 0; (to - from) / each > 12; i++) each = i % 3 === 1 ? each / 2 * 5 : each * 2;
  for (let s = Math.ceil(Math.max(0, from) / each) * each; s <= Math.min(to, p.steps - 1); s += each)
    add(g, 'text', { class: 'x', x: across(p, 2 * s), y: Y + H + 16 }, s);
}
/* Names of the boxes that are seen and have room for one, across or upwards. */
function names(g, p) {
  const v = p.view, wider = W / v[2], higher = H / v[3], taken = [];
  for (const [name, bx, by, bw, bh] of p.boxes) {
    const left = Math.max(X, X + (bx - v[0]) * wider), right = Math.min(X + W, X + (bx + bw - v[0]) * wider);
    const top = Math.max(Y, Y + (by - v[1]) * higher), bottom = Math.min(Y + H, Y + (by + bh - v[1]) * higher);
    const w = right - left, h = bottom - top;
    const wide = h >= 12 ? Math.floor(Math.max(0, w) / 5.6) : 0, up = w >= 12 ? Math.floor(Math.max(0, h) / 5.6) : 0;
    const upwards = name.length > wide && up > wide, room = upwards ? up : wide;
    if (name.length > room && room < 4) continue;
    const text = name.length > room ? '\u2026' + name.slice(1 - room) : name;
    const x = (left + right) / 2, y = (top + bottom) / 2, long = text.length * 2.8;
    const area = upwards ? [x - 6, y - long, x + 6, y + long] : [x - long, y - 6, x + long, y + 6];
    if (taken.some(a => a[2] > area[0] && area[2] > a[0] && a[3] > area[1] && area[3] > a[1])) continue;
    taken.push(area);
    add(g, 'text', upwards ? { class: 'name', transform: 'translate(' + (x + 3.5) + ' ' + y + ') rotate(-90)' } :
      { class: 'name', x: x, y: y + 3.5 }, text);
  }
}
/* Bytes that live in each half of a step and bytes moved, the most of what shares a column. */
function timeline(p) {
  const g = p.timeline, v = p.view, data = p.data, columns = 445;
  const first = Math.max(0, Math.floor((v[0] - X) / W * p.steps)), last = Math.min(p.steps, Math.ceil((v[0] + v[2] - X) / W * p.steps));
  const most = Math.max(1, data.arena), height = n => (n / most * LIVE.height).toFixed(2), low = LIVE.top + LIVE.height;
  const inside = x => Math.min(X + W, Math.max(X, x)), column = x => Math.floor((x - X) / W * columns);
  let path = '', at = -1, top = 0;
  for (let half = 2 * first; half < 2 * last; half++) {
    const x = inside(across(p, half)), next = inside(across(p, half + 1));
    top = Math.max(top, data.live[half]);
    if (column(next) === at && half + 1 < 2 * last) continue;
    path += 'L' + (path ? x : X).toFixed(2) + ' ' + (low - height(top)) + 'H' + next.toFixed(2);
    at = column(next);
    top = 0;
  }
  g.replaceChildren();
  add(g, 'rect', { class: 'plot', x: X, y: LIVE.top, width: W, height: LIVE.height });
  if (path) add(g, 'path', { class: 'live', d: 'M' + X + ' ' + low + path + 'V' + low + 'Z' });
  add(g, 'text', { class: 'y', x: X - 6, y: LIVE.top + 9 }, bytes(data.arena));
  add(g, 'text', { class: 'y', x: X - 6, y: low }, 'live');
  if (!p.most) return;
  const bars = new Map();
  for (let s = first; s < last; s++) {
    const kind = data.positions[3 * s], moved = p.moves[s];
    const from = inside(across(p, 2 * s)), to = Math.max(from + 1, inside(across(p, 2 * s + 2))), key = kind + '/' + column(from);
    if (moved && (!bars.has(key) || bars.get(key)[3] < moved)) bars.set(key, [KINDS[kind], from, to, moved]);
  }
  add(g, 'rect', { class: 'plot', x: X, y: MOVED.top, width: W, height: MOVED.height });
  for (const [kind, from, to, moved] of bars.values()) {
    const tall = Math.max(1, moved / p.most * MOVED.height);
    add(g, 'rect', { class: kind, x: from, y: MOVED.top + MOVED.height - tall, width: to - from, height: tall });
  }
  add(g, 'text', { class: 'y', x: X - 6, y: MOVED.top + 9 }, bytes(p.most));
  add(g, 'text', { class: 'y', x: X - 6, y: MOVED.top + MOVED.height }, 'moved');
}
/* The selected step, through picture and timeline. */
function mark(p) {
  p.mark.replaceChildren();
  if (p.at === undefined || p.at < 0) return;
  const from = Math.max(X, across(p, 2 * p.at)), to = Math.min(X + W, across(p, 2 * p.at + 2));
  if (to >= from) add(p.mark, 'rect', { x: from, y: Y, width: Math.max(1, to - from), height: p.bottom - Y });
}
function show(p) {
  const v = p.view, whole = v[2] === W && v[3] === H;
  if (p.section.hidden) return;
  v[0] = Math.min(Math.max(v[0], X), X + W - v[2]); v[1] = Math.min(Math.max(v[1], Y), Y + H - v[3]);
  p.frame.setAttribute('viewBox', v.join(' '));
  p.svg.classList.toggle('near', W / v[2] > 4);
  for (const [g, home] of p.drawn) if (whole) g.innerHTML = home; else g.replaceChildren();
  if (!whole) {
    axes(p.drawn[0][0], p);
    names(p.drawn[1][0], p);
  }
  for (const guide of p.svg.querySelectorAll('.guides')) {
    const at = Y + H - Number(guide.dataset.byte) / p.bytes * H, y = Y + (at - v[1]) / v[3] * H;
    guide.setAttribute('transform', 'translate(0 ' + (y - at) + ')');
    guide.style.display = y >= Y - 1 && y <= Y + H ? '' : 'none';
  }
  timeline(p);
  mark(p);
}
/* @by, @high: how much more is seen of time, and of bytes. */
function zoom(p, by, high, x, y) {
  const v = p.view, width = Math.min(W, v[2] * by), height = Math.min(H, v[3] * high);
  p.view = [x - (x - v[0]) * width / v[2], y - (y - v[1]) * height / v[3], width, height];
  show(p);
}
function zoomAll(by, high) { for (const p of plans) zoom(p, by, high, p.view[0] + p.view[2] / 2, p.view[1] + p.view[3] / 2); }
function moveAll(x, y) { for (const p of plans) { p.view[0] += x * p.view[2]; p.view[1] += y * p.view[3]; show(p); } }
function reset() { for (const p of plans) { p.view = [X, Y, W, H]; show(p); } }
/* Bring boxes of the picture, of these numbers, before the eye. */
function look(p, list) {
  if (!list.length) return;
  const of = list.map(i => p.boxes[i]);
  const left = Math.min(...of.map(b => b[1])), right = Math.max(...of.map(b => b[1] + b[3]));
  const top = Math.min(...of.map(b => b[2])), bottom = Math.max(...of.map(b => b[2] + b[4]));
  const width = W * Math.min(1, Math.max(0.0005, (right - left) / W * 3)), height = H * Math.min(1, Math.max(0.005, (bottom - top) / H * 3));
  p.view = [(left + right - width) / 2, (top + bottom - height) / 2, width, height];
  show(p);
}
function theme() {
  const dark = root.classList.contains('dark') ||
    (!root.classList.contains('light') && matchMedia('(prefers-color-scheme: dark)').matches);
  root.classList.toggle('dark', !dark); root.classList.toggle('light', dark);
}
function peak() { document.getElementById('peak').setAttribute('aria-pressed', root.classList.toggle('peak-only')); }
