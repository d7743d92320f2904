/** Waits for slow readers: of an answer over HTTP, or of a bare connection. */
import type { HttpAnswer } from "../http1/server/index.ts";
import type { Signal } from "../runtime/caller-abort.ts";

/** drained resolves when what was written has been taken, or when the connection closes or the signal fires. */
export function drained(writable: Pick<HttpAnswer, "once" | "off">, signal: Signal): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      writable.off("drain", settle);
      writable.off("close", settle);
      signal.removeEventListener("abort", settle);
      resolve();
    };
    writable.once("drain", settle);
    writable.once("close", settle);
    signal.addEventListener("abort", settle, { once: true });
    if (signal.aborted) settle();
  });
}

interface Writing {
  once(event: "finish" | "close", listener: () => void): unknown;
}

/** written resolves when the system has taken all of an answer that was ended, or its connection is gone. */
export function written(res: Writing): Promise<void> {
  return new Promise((resolve) => {
    res.once("finish", resolve);
    res.once("close", resolve);
  });
}
