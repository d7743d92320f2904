/** Limits with a single value. */
import type { DescribeLimitsResponse } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { useMeasures } from "./measures.ts";
import { Setting, Settings } from "./setting.tsx";

const said = texts(
  {
    keys: "API keys of an account",
    body: "Largest request body",
    bodyTime: "Time for a request body to arrive",
    keep: "Answers of /v1/responses are kept for",
    kept: "Kept answers of an account",
    registration: "Who may register",
    open: "Anybody",
    invitation: "Whoever is invited",
    closed: "Nobody",
    operatorKey: "Operator key",
    yes: "Configured",
    no: "Not configured: only operators who are signed in may do what it allows",
    durability: "Committed money survives",
    process: "A crash of the process",
    power: "A loss of power",
    unit: "Unit of money",
  },
  {
    keys: "每个账户的 API 密钥数",
    body: "请求体大小上限",
    bodyTime: "请求体接收时限",
    keep: "/v1/responses 的应答保留时长",
    kept: "每个账户保留的应答数",
    registration: "谁可以注册",
    open: "所有人",
    invitation: "受邀者",
    closed: "不开放",
    operatorKey: "运营密钥（operator_key）",
    yes: "已配置",
    no: "未配置：仅已登录的网关管理员可进行运营操作",
    durability: "已提交账目可承受",
    process: "进程崩溃",
    power: "断电",
    unit: "货币单位",
  },
);

export function SettingList({ of }: { readonly of: DescribeLimitsResponse }) {
  const t = useTexts(said);
  const format = useFormat();
  const { unit, seconds, bytes } = useMeasures();
  const registration = { open: t.open, invitation: t.invitation, closed: t.closed }[of.registration];
  const durability = { process: t.process, power: t.power }[of.durability];
  return (
    <Settings>
      <Setting name={t.registration}>{registration ?? of.registration}</Setting>
      <Setting name={t.operatorKey}>{of.operatorKey ? t.yes : t.no}</Setting>
      <Setting name={t.keys}>{format.count(of.maxKeysPerAccount)}</Setting>
      <Setting name={t.body}>{bytes(of.maxBodyBytes)}</Setting>
      <Setting name={t.bodyTime}>{seconds(of.bodyTimeoutSeconds)}</Setting>
      <Setting name={t.keep}>{unit(of.responsesKeepHours, "hour")}</Setting>
      <Setting name={t.kept}>{format.count(of.responsesMaxPerAccount)}</Setting>
      <Setting name={t.durability}>{durability ?? of.durability}</Setting>
      <Setting name={t.unit}>{of.unit}</Setting>
    </Settings>
  );
}
