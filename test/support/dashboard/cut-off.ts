/** Finds what a window does not show whole: what sticks out of it or of its card, what scrolls sideways, and what is cut off. */
import type { Page } from "playwright-core";

/**
 * widths reads how wide the page is, and the window. Charts follow a change of the window's size a little later: it polls until they fit.
 */
export const widths = `new Promise((resolve) => {
  const until = performance.now() + 5_000;
  const look = () => {
    const { scrollWidth } = document.documentElement;
    if (scrollWidth <= innerWidth || performance.now() > until) resolve([scrollWidth, innerWidth]);
    else requestAnimationFrame(look);
  };
  look();
})`;

/**
 * found lists what is not shown whole. Code may scroll sideways, for its lines must not be broken, and so may what is typed into a field of
 * one line; a choice must be whole. In a table of a wide window a name may end in dots, if a tooltip has the whole of it.
 */
const found = `(() => {
  const isShown = (element) => {
    const { width, height, right } = element.getBoundingClientRect();
    // What is to the left of the window waits there, as the menu of pages does on a phone.
    return width > 1 && height > 1 && right > 0 && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  const mayScroll = "pre, textarea, input:not([readonly]), .mantine-VisuallyHidden-root, [class*=skip]";
  const parts = [...document.querySelectorAll("body *")].filter(
    (element) => !element.closest(mayScroll) && !element.closest("svg") && isShown(element),
  );
  const named = (what, element) => {
    const text = (element.innerText ?? element.textContent ?? "").replaceAll(/\\s+/g, " ").slice(0, 60);
    return what + ": " + element.tagName + " " + element.getAttribute("class") + " " + text;
  };
  const hasTooltip = (element) =>
    innerWidth > 992 && element.closest("td") !== null && (element.closest("[title]") ?? element.querySelector("[title]")) !== null;
  const scrolling = parts.filter((element) => {
    const { overflowX, textOverflow } = getComputedStyle(element);
    if (!element.innerText?.trim() || overflowX === "visible" || element.scrollWidth <= element.clientWidth + 1 || element.clientWidth === 0) return false;
    return !(textOverflow === "ellipsis" && hasTooltip(element));
  });
  const clamped = parts.filter((element) => {
    const { overflowY } = getComputedStyle(element);
    const isCut = overflowY === "hidden" || overflowY === "clip";
    return isCut && element.scrollHeight > element.clientHeight + 3 && element.innerText?.trim();
  });
  const outOf = (element, around) => {
    const { right, left } = element.getBoundingClientRect();
    const bounds = around.getBoundingClientRect();
    return right > bounds.right + 1 || left < bounds.left - 1;
  };
  const ownText = (element) => [...element.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim() !== "");
  const outside = parts.filter((element) => {
    if (!ownText(element)) return false;
    const range = document.createRange();
    range.selectNodeContents(element);
    const { right, left } = range.getBoundingClientRect();
    if (right > innerWidth + 1 || left < -1) return true;
    const card = element.closest(".mantine-Paper-root, .mantine-Alert-root, .mantine-Modal-content");
    return card !== null && card !== element && outOf(element, card);
  });
  return [
    ...scrolling.map((element) => named("scrolls or is cut", element)),
    ...clamped.map((element) => named("is cut below", element)),
    ...outside.map((element) => named("sticks out", element)),
  ];
})()`;

/** cutOff returns what is not shown whole at the window's width; a chart beside others is drawn anew a little later. */
export async function cutOff(page: Page): Promise<string[]> {
  const [scrollWidth = 0, innerWidth = 0] = await page.evaluate<number[]>(widths);
  if (scrollWidth > innerWidth)
    return [`wider than the window: ${scrollWidth}`, ...(await page.evaluate<string[]>(found))];
  const until = performance.now() + 2_000;
  for (;;) {
    const parts = await page.evaluate<string[]>(found);
    if (parts.length === 0 || performance.now() > until) return [...new Set(parts)];
    await page.evaluate("new Promise(requestAnimationFrame)");
  }
}
