// Hover texts in a box that comes at once and keeps line breaks. Without it the browser shows the titles itself.
const hint = document.getElementById('hint');
const near = (event) => event.target.closest?.('[title], [data-hint]');
document.addEventListener('mouseover', (event) => {
  const on = near(event);
  if (!on) { hint.hidden = true; return; }
  if (on.title) { on.dataset.hint = on.title; on.removeAttribute('title'); }
  hint.textContent = on.dataset.hint;
  hint.hidden = !on.dataset.hint;
});
document.addEventListener('mousemove', (event) => {
  if (hint.hidden) return;
  const left = Math.min(event.clientX + 14, innerWidth - hint.offsetWidth - 8);
  const below = event.clientY + 18;
  const top = below + hint.offsetHeight > innerHeight ? event.clientY - hint.offsetHeight - 12 : below;
  hint.style.left = `${Math.max(8, left)}px`;
  hint.style.top = `${Math.max(8, top)}px`;
});
document.addEventListener('mouseout', () => { hint.hidden = true; });
document.addEventListener('scroll', () => { hint.hidden = true; }, { passive: true });
