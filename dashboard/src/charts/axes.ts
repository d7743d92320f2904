/** The axes of charts: those of the same time name the same moments, however wide the numbers at their side are. */

/** mostMoments is the number of moments that a chart on a phone has room for. */
const mostMoments = 4;

/** timeAxis returns the settings of an axis of `count` moments, of which it names the first and every so many after it. */
export function timeAxis(count: number) {
  return { interval: Math.max(1, Math.ceil(count / mostMoments)) - 1, minTickGap: 0 };
}

/** valueAxis returns the settings of the axis of values. Where all are 0 it goes up to `one`: the library's own would count in parts. */
export function valueAxis(isEmpty: boolean, one: number) {
  return isEmpty ? { domain: [0, one], ticks: [0, one] } : {};
}
