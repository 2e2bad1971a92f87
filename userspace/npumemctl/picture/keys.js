/* SPDX-License-Identifier: MIT */
/* Pointer, keys and buttons; and what the address asks to be selected from the start. */
function tensorBy(by) {
  const all = shown().flatMap(p => p.tensors), at = all.indexOf(document.activeElement);
  if (all.length) all[(Math.max(at, by > 0 ? -1 : 0) + by + all.length) % all.length].focus();
}
function describe(e) {
  const tensor = e.closest ? e.closest('.tensor') : null;
  if (!tensor) return '';
  const own = e.querySelector(':scope > title'), all = tensor.querySelector(':scope > title');
  return all.textContent + (own && own !== all ? '\n\ntile:' + own.textContent.slice(own.textContent.indexOf('\n')) : '');
}
/* The tensor of an element of a picture; -1: it is of none. */
function tensorOf(p, e) {
  const i = p.tensors.indexOf(e.closest ? e.closest('.tensor') : null);
  return i < 0 ? -1 : p.places[i].tensor;
}
plans.forEach(p => {
  let drag = null, moved = false;
  /* In the units of the picture, and in those of what is in view. */
  const point = e => new DOMPoint(e.clientX, e.clientY).matrixTransform(p.svg.getScreenCTM().inverse());
  const place = at => ({ x: p.view[0] + (at.x - X) / W * p.view[2], y: p.view[1] + (at.y - Y) / H * p.view[3] });
  p.svg.addEventListener('wheel', e => {
    e.preventDefault();
    const at = place(point(e));
    const by = e.deltaY + e.deltaX > 0 ? 1.25 : 0.8;
    zoom(p, by, e.shiftKey ? 1 : by, at.x, at.y);
  }, { passive: false });
  p.svg.addEventListener('pointerdown', e => { drag = { ...place(point(e)), from: e }; moved = false; });
  p.svg.addEventListener('pointerup', e => {
    const at = point(e), step = Math.floor((place(at).x - X) / W * p.steps);
    if (drag && !moved && at.x >= X && at.x <= X + W && at.y >= Y && step >= 0 && step < p.steps)
      select(p, at.y <= Y + H ? tensorOf(p, e.target) : -2, step);
    drag = null;
  });
  p.svg.addEventListener('pointerleave', () => { drag = null; info.textContent = ''; });
  p.svg.addEventListener('pointermove', e => {
    if (!drag) { info.textContent = describe(e.target); return; }
    moved = moved || Math.hypot(e.clientX - drag.from.clientX, e.clientY - drag.from.clientY) > 3;
    if (!moved) return;
    const at = place(point(e));
    p.view[0] += drag.x - at.x; p.view[1] += drag.y - at.y; show(p);
  });
  p.svg.addEventListener('focusin', e => { info.textContent = describe(e.target); });
  p.svg.addEventListener('focusout', () => { info.textContent = ''; });
});
const findBox = document.getElementById('find'), stepBox = document.getElementById('step');
const keys = {
  '+': () => zoomAll(0.8, 0.8), '=': () => zoomAll(0.8, 0.8), '-': () => zoomAll(1.25, 1.25), '0': reset,
  ']': () => zoomAll(0.8, 1), '[': () => zoomAll(1.25, 1),
  ArrowLeft: () => moveAll(-0.1, 0), ArrowRight: () => moveAll(0.1, 0),
  ArrowUp: () => moveAll(0, -0.1), ArrowDown: () => moveAll(0, 0.1),
  n: () => tensorBy(1), p: () => tensorBy(-1), m: peak, t: theme, d: changes,
  ',': () => stepBy(-1), '.': () => stepBy(1), '/': () => findBox.focus(),
};
function escape() {
  findBox.value = '';
  findPanel('');
  if (root.classList.contains('changes')) changes();
  select(selected.plan, -1, -1);
  document.activeElement.blur();
}
addEventListener('keydown', e => {
  const typing = e.target === findBox || e.target === stepBox;
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.key === 'Escape') { escape(); return; }
  if (e.key === 'Enter' && e.target === findBox) { takeFirst(findBox.value); return; }
  if (e.key === 'Enter' && e.target.closest && e.target.closest('.tensor')) {
    const p = plans.find(x => x.svg.contains(e.target));
    select(p, tensorOf(p, e.target), -2);
    return;
  }
  if (typing || !keys[e.key]) return;
  e.preventDefault(); keys[e.key]();
});
findBox.addEventListener('input', () => findPanel(findBox.value));
stepBox.addEventListener('change', () => {
  const at = Number(stepBox.value);
  if (stepBox.value !== '' && Number.isInteger(at) && at >= 0 && at < selected.plan.steps) goToStep(selected.plan, at);
  else stepPanel();
});
for (const [id, action] of [['in', keys['+']], ['out', keys['-']], ['reset', reset], ['peak', peak], ['changes', changes], ['theme', theme]])
  document.getElementById(id).addEventListener('click', action);

/* "#left=3&right=5", of the table's lines; "#step=12", "#tensor=NAME", "#find=TEXT", "#moved", joined by "&". */
function start() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const line = name => Math.min(plans.length, Math.max(1, Number.parseInt(asked.get(name), 10) || (name === 'left' ? 1 : 2))) - 1;
  document.getElementById('changes').hidden = plans.length < 2;
  if (!plans.length) return;
  plans.forEach(show);
  stepBox.max = plans[0].steps - 1;
  if (choices.length) draw(line('left'), line('right'));
  for (const [name, value] of asked) {
    const at = Number(value), t = name === 'tensor' ? selected.plan.graph.tensors.findIndex(x => x.name === value) : -1;
    if (name === 'step' && Number.isInteger(at) && at >= 0 && at < selected.plan.steps) goToStep(selected.plan, at);
    if (t >= 0) { select(selected.plan, t, -2); lookAtTensor(); }
    if (name === 'find') { findBox.value = value; findPanel(value); }
    if (name === 'moved' && !root.classList.contains('changes')) changes();
  }
}
start();
