/** CallerAbort, which behaves as an AbortSignal would. */
import { describe, expect, test } from "vitest";
import { abortSignalOf, CallerAbort } from "../../src/runtime/caller-abort.ts";

describe("a signal", () => {
  test("calls each listener once, in their order", () => {
    const leaving = new CallerAbort();
    const heard: string[] = [];
    leaving.addEventListener("abort", () => heard.push("first"));
    leaving.addEventListener("abort", () => heard.push("second"));
    expect(leaving.aborted).toBe(false);
    leaving.abort();
    leaving.abort();
    expect(leaving.aborted).toBe(true);
    expect(heard).toEqual(["first", "second"]);
  });

  test("calls no listener that was taken back", () => {
    const leaving = new CallerAbort();
    const heard: string[] = [];
    const first = () => heard.push("first");
    leaving.addEventListener("abort", first);
    leaving.addEventListener("abort", () => heard.push("second"));
    leaving.removeEventListener("abort", first);
    leaving.removeEventListener("abort", first);
    leaving.abort();
    expect(heard).toEqual(["second"]);
  });

  test("lets its listeners be taken back while they are called", () => {
    const leaving = new CallerAbort();
    const heard: string[] = [];
    const once = () => {
      heard.push("once");
      leaving.removeEventListener("abort", once);
    };
    leaving.addEventListener("abort", once);
    leaving.addEventListener("abort", () => heard.push("after"));
    leaving.abort();
    expect(heard).toEqual(["once", "after"]);
  });
});

describe("for what takes nothing but an AbortSignal", () => {
  test("it is one that fires when it does", () => {
    const leaving = new CallerAbort();
    const signal = abortSignalOf(leaving);
    expect(signal.aborted).toBe(false);
    leaving.abort();
    expect(signal.aborted).toBe(true);
  });

  test("it is one that has fired where it has", () => {
    const leaving = new CallerAbort();
    leaving.abort();
    expect(abortSignalOf(leaving).aborted).toBe(true);
  });

  test("it is itself where it is one", () => {
    const { signal } = new AbortController();
    expect(abortSignalOf(signal)).toBe(signal);
  });
});
