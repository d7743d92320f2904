/** Tells what has a reason in Chinese. The gateway's own message is the English text, and stands where a reason is not known here. */
type Parameters = Readonly<Record<string, string>>;

type ReasonText = string | ((of: Parameters) => string);

/** Reasoned is what has a reason: a number of an enum of reasons.proto. */
export interface Reasoned {
  readonly reason: number;
  readonly parameters: Parameters;
}

/** TellReason returns undefined where the reason is not known here. */
export type TellReason = (of: Reasoned) => string | undefined;

/** tellReasons returns what tells each reason of an enum by its text. */
export function tellReasons<R extends string>(
  reasons: Readonly<Record<R, number>>,
  texts: Readonly<Record<Exclude<R, "UNSPECIFIED">, ReasonText>>,
): TellReason {
  const byNumber = new Map<number, ReasonText>(
    Object.entries<ReasonText>(texts).map(([reason, text]) => [reasons[reason as R], text]),
  );
  return ({ reason, parameters }) => {
    const text = byNumber.get(reason);
    return typeof text === "function" ? text(parameters) : text;
  };
}
