/* SPDX-License-Identifier: MIT */
/* Two plans side by side: what lies elsewhere, or at another time; and which two of a table. */

/* How many steps are not where they are in the other order, once both are without transfers. */
function reordered(a, b) {
  const order = p => p.positions.filter(x => !x.kind).map(x => p.graph.steps[x.index].key);
  const one = order(a), other = order(b);
  let differ = 0;
  for (let i = 0; i < Math.max(one.length, other.length); i++) if (one[i] !== other[i]) differ++;
  return { differ, of: Math.max(one.length, other.length) };
}
/* The first step of a place, and the last: positions of other plans have other numbers where one moves more. */
function lifetime(p, place) {
  let from = place.from, to = place.to;
  while (from < to && p.positions[from].kind) from++;
  while (to > from && p.positions[to].kind) to--;
  return [from, to].map(at => p.positions[at].kind ? '' : p.graph.steps[p.positions[at].index].key).join('\n');
}
const spans = (p, t, what) => p.placesOf[t].map(i => what(p.places[i])).join(', ');
/* Each tensor that is not where it is in the other plan, or not as long; largest first. */
function movedTensors(a, b) {
  const list = [], seen = new Set();
  const add = (t, same) => {
    const ours = t < 0 ? [] : a.placesOf[t], theirs = same < 0 ? [] : b.placesOf[same];
    if (!ours.length && !theirs.length) return;
    const address = (p, x) => p.placesOf[x].map(i => p.places[i].first).join(), time = (p, x) => p.placesOf[x].map(i => lifetime(p, p.places[i])).join('\n\n');
    const what = !ours.length ? 'only right' : !theirs.length ? 'only left' :
      (address(a, t) === address(b, same) ? 0 : 1) + (time(a, t) === time(b, same) ? 0 : 2);
    if (what === 0) return;
    list.push({ left: t, right: same, what: ['', 'place', 'time', 'place and time'][what] || what, bytes: t < 0 ? b.graph.tensors[same].size : a.graph.tensors[t].size });
  };
  a.graph.tensors.forEach((x, t) => { const same = sameTensor(a, t, b); seen.add(same); add(t, same); });
  b.graph.tensors.forEach((x, t) => { if (!seen.has(t)) add(-1, t); });
  return list.sort((x, y) => y.bytes - x.bytes || x.left - y.left);
}
function movedPanel() {
  const on = root.classList.contains('changes'), two = shown();
  for (const p of plans) for (const t of p.svg.querySelectorAll('.tensor.moved')) t.classList.remove('moved');
  root.classList.remove('faded');
  if (!on || two.length !== 2) { removePanel('moved-panel'); return; }
  const [a, b] = two, list = movedTensors(a, b), order = reordered(a, b), sum = {};
  for (const m of list) {
    sum[m.what] = (sum[m.what] || 0) + 1;
    if (m.left >= 0) for (const i of a.placesOf[m.left]) a.tensors[i].classList.add('moved');
    if (m.right >= 0) for (const i of b.placesOf[m.right]) b.tensors[i].classList.add('moved');
  }
  root.classList.toggle('faded', list.length > 0);
  const side = (p, t, what) => t < 0 ? '' : spans(p, t, what);
  panel('moved-panel', [count(list.length, 'tensor') + ' moved'],
    element('p', {}, (Object.keys(sum).map(k => sum[k] + ' by ' + k).join(', ').replace(/by only/g, 'only') || 'all lie where they lay, as long') + '; ' +
      (order.differ ? order.differ + ' of ' + order.of + ' steps at another place of the order' : 'the order of the steps is the same') +
      '; arena ' + exact(a.data.arena) + ' left, ' + exact(b.data.arena) + ' right'),
    list.length ? table(['tensor', 'bytes', 'what', 'first byte, left', 'right', 'steps, left', 'right'], list.map(m => [
      m.left >= 0 ? tensorButton(a, m.left) : tensorButton(b, m.right), exact(m.bytes), m.what,
      side(a, m.left, x => x.first), side(b, m.right, x => x.first),
      side(a, m.left, x => x.from + ' to ' + x.to), side(b, m.right, x => x.from + ' to ' + x.to)])) : []);
}
function changes() {
  if (shown().length !== 2) return;
  document.getElementById('changes').setAttribute('aria-pressed', root.classList.toggle('changes'));
  movedPanel();
}
