/**
 * Browsers' names by their user agent. The first match wins: most user agents also name other browsers, after
 * themselves.
 */

const browsers: readonly (readonly [name: string, sign: RegExp])[] = [
  ["WeChat", /MicroMessenger\//],
  ["Edge", /Edg(?:e|A|iOS)?\//],
  ["Opera", /OPR\//],
  ["Samsung Internet", /SamsungBrowser\//],
  ["QQ Browser", /M?QQBrowser\//],
  ["Firefox", /(?:Firefox|FxiOS)\//],
  ["Chrome", /(?:Chrome|CriOS|Chromium)\//],
  ["Safari", /Safari\//],
  ["curl", /^curl\//],
];

const systems: readonly (readonly [name: string, sign: RegExp])[] = [
  ["iPhone", /iPhone/],
  ["iPad", /iPad/],
  ["Android", /Android/],
  ["HarmonyOS", /HarmonyOS|OpenHarmony/],
  ["Windows", /Windows/],
  ["macOS", /Mac OS X|Macintosh/],
  ["ChromeOS", /CrOS/],
  ["Linux", /Linux|X11/],
];

/** nameBrowser returns `Firefox · Windows`, or as much of it as is known; empty if nothing is. */
export function nameBrowser(userAgent: string): string {
  const nameIn = (list: typeof browsers) => list.find(([, sign]) => sign.test(userAgent))?.[0];
  return [nameIn(browsers), nameIn(systems)].filter(Boolean).join(" · ");
}
