/**
 * Keeps the focus, so that whoever works by the keyboard goes on where they were. A browser takes it away without a word from what is
 * removed (a row that was deleted, a form that gives way to its answer, the item of a menu that closes) and from what is disabled (a
 * button while its call runs). Then it goes back to the same control, or to what is nearest of what is still there.
 */
import { focused, goBack, type Place, placeOf } from "./place.ts";

/** last is where the focus was last; undefined after a click elsewhere. */
let last: Place | undefined;
/** beforeDialog is where the focus was before the dialog that was opened last. */
let beforeDialog: Place | undefined;

/** keepFocus begins to keep the focus. It is called once, when the page starts. */
export function keepFocus(): void {
  document.addEventListener("focusin", ({ target }) => {
    if (target instanceof HTMLElement) last = placeOf(target);
  });
  document.addEventListener("pointerdown", ({ target }) => {
    if (target instanceof Node && !last?.element.contains(target)) last = undefined;
  });
  const watched = { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] };
  new MutationObserver(onChange).observe(document.body, watched);
}

function onChange(changes: readonly MutationRecord[]): void {
  if (!last || focused()) return;
  const { element } = last;
  if (element.matches(":disabled") && element.isConnected) return;
  // An element that is still on the page gave up the focus on purpose. One that was disabled lost it, and gets it back.
  const isBack = changes.some(({ type, target }) => type === "attributes" && target.contains(element));
  if (!element.isConnected || isBack) goBack(withOutside(last));
}

/**
 * rememberFocus returns a function that gives the focus back to where it is now, when a dialog closes. It leaves the focus alone where
 * something else has taken it by then.
 */
export function rememberFocus(): () => void {
  const now = focused();
  const place = now ? placeOf(now) : last;
  const before = place && withOutside(place);
  beforeDialog = before;
  return () => {
    const atClose = focused();
    setTimeout(() => {
      const current = focused();
      if (before && (!current || current === atClose)) goBack(before);
    });
  };
}

/** withOutside adds to a place in a dialog the one before the dialog, to go back to where the dialog is gone, too. */
function withOutside(place: Place): Place {
  if (!beforeDialog || !place.element.closest("[aria-modal]")) return place;
  return { ...place, outer: beforeDialog };
}
