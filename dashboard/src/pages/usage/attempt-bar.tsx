/** AttemptBar shows when an attempt was made, on the time that its call took: lighter until its first byte. */
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import classes from "./attempt-bar.module.css";

const said = texts(
  {
    span: (from: string, to: string) => `From ${from} to ${to} of the call`,
    waiting: (duration: string) => `First byte after ${duration}`,
  },
  {
    span: (from: string, to: string) => `调用的第 ${from} 至 ${to}`,
    waiting: (duration: string) => `${duration} 后收到首字节`,
  },
);

export interface AttemptBarProps {
  /** from, to and firstByte are in milliseconds after the call arrived, of which it took `of`. */
  readonly from: number;
  readonly to: number;
  readonly of: number;
  readonly firstByte?: number | undefined;
  readonly look: "answered" | "failed" | "rejected" | "overtaken";
}

export function AttemptBar({ from, to, of, firstByte, look }: AttemptBarProps) {
  const t = useTexts(said);
  const format = useFormat();
  const share = (ms: number) => `${(100 * Math.min(ms, of)) / Math.max(1, of)}%`;
  const ends = Math.min(to, of);
  const first = firstByte === undefined ? undefined : Math.min(ends, Math.max(from, firstByte));
  const spoken = t.span(format.duration(from), format.duration(ends));
  const title = first === undefined ? spoken : `${spoken}. ${t.waiting(format.duration(first - from))}.`;
  return (
    <div className={classes.track} role="img" aria-label={title} title={title}>
      <div className={classes[look]} style={{ left: share(from), width: share(ends - from) }} />
      {first !== undefined && (
        <div className={classes.waiting} style={{ left: share(from), width: share(first - from) }} />
      )}
    </div>
  );
}
