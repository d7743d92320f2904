/** The settings of the cache and of retention. */
import type { DescribeLimitsResponse } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { useMeasures } from "./measures.ts";
import { Setting, Settings } from "./setting.tsx";

const said = texts(
  {
    cache: "Memory for cached answers",
    off: "None: no answer is cached",
    cacheTime: "How long an answer is cached at most",
    price: "A cached answer costs",
    nothing: "Nothing",
    share: (part: string) => `${part} of what it cost at first`,
    requests: "How long single calls are kept",
    refused: "How long refused requests are kept",
    audit: "How long the audit log is kept",
    ever: "For good",
  },
  {
    cache: "应答缓存的内存上限",
    off: "无：不缓存应答",
    cacheTime: "应答的最长缓存时间",
    price: "缓存命中的费用",
    nothing: "免费",
    share: (part: string) => `首次费用的 ${part}`,
    requests: "单次调用记录的保留时长",
    refused: "被拒绝调用的保留时长",
    audit: "审计日志的保留时长",
    ever: "永久",
  },
);

export function KeepingSettings({ of }: { readonly of: DescribeLimitsResponse }) {
  const t = useTexts(said);
  const format = useFormat();
  const { unit, seconds, bytes } = useMeasures();
  const { cacheMaxBytes, cacheSeconds, cachePriceShare, requestsKeepDays, auditKeepDays, refusedKeepDays } = of;
  const days = (count: number | undefined) => (count === undefined ? t.ever : unit(count, "day"));
  return (
    <Settings>
      <Setting name={t.cache}>{cacheMaxBytes === undefined ? t.off : bytes(cacheMaxBytes)}</Setting>
      {cacheMaxBytes !== undefined && (
        <>
          <Setting name={t.cacheTime}>{seconds(cacheSeconds)}</Setting>
          <Setting name={t.price}>
            {cachePriceShare === 0 ? t.nothing : t.share(format.percent(cachePriceShare))}
          </Setting>
        </>
      )}
      <Setting name={t.requests}>{days(requestsKeepDays)}</Setting>
      <Setting name={t.refused}>{days(refusedKeepDays)}</Setting>
      <Setting name={t.audit}>{days(auditKeepDays)}</Setting>
    </Settings>
  );
}
