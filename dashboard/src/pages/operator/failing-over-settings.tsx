/** The settings of failing over: retries, breakers, hedging. */
import type { DescribeLimitsResponse } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { useMeasures } from "./measures.ts";
import { Setting, Settings } from "./setting.tsx";

const said = texts(
  {
    attempts: "Attempts of a call at one model, at most",
    retries: "Retries among what one target is sent, at most",
    failures: "Failures in a row until a target is left alone",
    resting: "A target is left alone for",
    hedging: "A call that is not streamed is made once more",
    off: "Never",
    after: (time: string, share: string) => `After ${time}, for ${share} of such calls at most`,
  },
  {
    attempts: "每次调用对同一模型的最多尝试次数",
    retries: "同一目标收到的请求中重试的最高占比",
    failures: "目标连续失败多少次后暂停使用",
    resting: "目标暂停使用的时长",
    hedging: "非流式调用再次发送",
    off: "从不",
    after: (time: string, share: string) => `${time}无应答后，最多占此类调用的 ${share}`,
  },
);

export function FailingOverSettings({ of }: { readonly of: DescribeLimitsResponse }) {
  const t = useTexts(said);
  const format = useFormat();
  const { seconds } = useMeasures();
  const { attempts, retryShare, breakerFailures, breakerOpenSeconds, hedgeAfterSeconds, hedgeShare } = of;
  return (
    <Settings>
      <Setting name={t.attempts}>{format.count(attempts)}</Setting>
      <Setting name={t.retries}>{format.percent(retryShare)}</Setting>
      <Setting name={t.failures}>{format.count(breakerFailures)}</Setting>
      <Setting name={t.resting}>{seconds(breakerOpenSeconds)}</Setting>
      <Setting name={t.hedging}>
        {hedgeAfterSeconds === undefined ? t.off : t.after(seconds(hedgeAfterSeconds), format.percent(hedgeShare))}
      </Setting>
    </Settings>
  );
}
