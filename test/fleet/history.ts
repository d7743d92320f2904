/** What was done to the fleet, and when: by this all that clients were told is judged. Times are milliseconds of `performance.now()`. */

/** A node is not there, stands still, cannot reach a server, or is on a machine that does not keep up. */
export type Trouble = "down" | "paused" | "postgres" | "redis" | "stall";

export interface Span {
  readonly trouble: Trouble;
  /** The number of the node. */
  readonly node: number;
  readonly from: number;
  /** Infinity while it lasts. */
  to: number;
}

export interface History {
  readonly spans: readonly Span[];
  /** Begins a span. Returns what ends it. */
  begin(trouble: Trouble, node: number): () => void;
  /** Adds a span that is over. */
  add(span: Span): void;
  /** Notes a trouble that was over at once. */
  note(trouble: Trouble, node: number): void;
}

export function createHistory(): History {
  const spans: Span[] = [];
  return {
    spans,
    begin(trouble, node) {
      const span: Span = { trouble, node, from: performance.now(), to: Number.POSITIVE_INFINITY };
      spans.push(span);
      return () => {
        if (span.to === Number.POSITIVE_INFINITY) span.to = performance.now();
      };
    },
    add: (span) => void spans.push(span),
    note(trouble, node) {
      const now = performance.now();
      spans.push({ trouble, node, from: now, to: now });
    },
  };
}

export interface When {
  readonly troubles: readonly Trouble[];
  /** Default: any node. */
  readonly node?: number;
  /** The shortest that counts, in milliseconds. Default: all. */
  readonly leastMs?: number;
}

/** Returns the spans of a kind that overlap a stretch of time. */
export function spansWithin(spans: readonly Span[], [from, to]: readonly [number, number], when: When): Span[] {
  return spans.filter(
    (span) =>
      when.troubles.includes(span.trouble) &&
      (when.node === undefined || when.node === span.node) &&
      span.to - span.from >= (when.leastMs ?? 0) &&
      span.from <= to &&
      span.to >= from,
  );
}

/** How long what was held up may take to be as it was before, in milliseconds. */
const afterStallMs = 1500;

/** Reports whether the machine did not keep up in a stretch of time, or just before it. */
export function isStalled(spans: readonly Span[], [from, to]: readonly [number, number], node?: number): boolean {
  const when = { troubles: ["stall"] as const, ...(node === undefined ? {} : { node }) };
  return spansWithin(spans, [from - afterStallMs, to], when).length > 0;
}
