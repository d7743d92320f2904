/**
 * Finds what a window does not show well: what sticks out of it or of its card, what scrolls sideways, is cut off or covered, words that
 * are broken, and what does not stand in line with its neighbours.
 */
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
 * one line; a choice must be whole, and so must a hint. A word may be broken where its card is not wide enough for it.
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
  const scrolling = parts.filter(
    (element) =>
      element.innerText?.trim() &&
      getComputedStyle(element).overflowX !== "visible" &&
      element.clientWidth !== 0 &&
      element.scrollWidth > element.clientWidth + 1,
  );
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
  const inputs = [...document.querySelectorAll("input")].filter(isShown);
  const pen = document.createElement("canvas").getContext("2d");
  const unreadable = inputs.filter((input) => {
    const { font, paddingLeft, paddingRight } = getComputedStyle(input);
    if (input.value === "" ? input.placeholder === "" : input.getAttribute("role") !== "combobox") return false;
    pen.font = font;
    const room = input.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    return pen.measureText(input.value || input.placeholder).width > room + 1;
  });
  // The button that clears a choice has a place of its own.
  const covered = [...document.querySelectorAll("pre, input")].filter(isShown).filter((element) => {
    const box = element.getBoundingClientRect();
    const padding = parseFloat(getComputedStyle(element).paddingRight);
    const ends = element.tagName === "PRE" ? box.right : box.right - padding;
    const around = element.parentElement.parentElement;
    return [...around.querySelectorAll("button")].filter(isShown).some((button) => {
      const { left, right, top, bottom } = button.getBoundingClientRect();
      return left < ends - 1 && right > box.left && top < box.bottom && bottom > box.top;
    });
  });
  const words = new Intl.Segmenter(document.documentElement.lang, { granularity: "word" });
  // Chinese sentences break behind every character; labels and values do not.
  const ofWholeWords = document.documentElement.lang.startsWith("zh") ? "th, td, dt, dd, label, h1, h2, h3" : "body";
  const broken = parts.filter((element) => {
    if (!ownText(element) || !element.closest(ofWholeWords)) return false;
    const room = (element.closest("li, td, th, .mantine-Paper-root, .mantine-Modal-content, main") ?? document.body).clientWidth * 0.85;
    const range = document.createRange();
    return [...element.childNodes].filter(({ nodeType }) => nodeType === 3).some((node) =>
      [...words.segment(node.data)].some(({ segment, index, isWordLike }) => {
        if (!isWordLike || segment.length < 2) return false;
        range.setStart(node, index);
        range.setEnd(node, index + segment.length);
        const lines = [...range.getClientRects()].filter(({ width }) => width > 0);
        const width = lines.reduce((sum, line) => sum + line.width, 0);
        return lines.length > 1 && lines.at(-1).top > lines[0].top + 4 && width < room;
      }),
    );
  });
  const uneven = (row, topOf) => {
    const tops = [...row.children].filter(isShown).flatMap((child) => {
      const part = topOf(child);
      return part ? [{ row: Math.round(child.getBoundingClientRect().top), top: part.getBoundingClientRect().top, part }] : [];
    });
    const isUneven = ({ row, top }, i) => i > 0 && tops[i - 1].row === row && Math.abs(tops[i - 1].top - top) > 1;
    return tops.filter(isUneven).map(({ part }) => part);
  };
  const rows = [...document.querySelectorAll(".mantine-SimpleGrid-root, .mantine-Group-root")];
  const unevenParts = rows.flatMap((row) => [
    ...uneven(row, (child) => (child.matches(".mantine-InputWrapper-root") ? child.querySelector(".mantine-Input-wrapper") : null)),
    ...uneven(row, (child) => (child.matches(".mantine-Paper-root") ? child.querySelector("h2, h3") : null)),
  ]);
  return [
    ...unreadable.map((input) => "cannot be read whole: " + (input.value || input.placeholder)),
    ...covered.map((element) => named("is covered by a button", element)),
    ...broken.map((element) => named("has a broken word", element)),
    ...unevenParts.map((element) => named("is not in line", element)),
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
