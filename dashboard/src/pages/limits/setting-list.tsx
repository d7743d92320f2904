/** Settings of the process: gateway.yaml alone has them. */
import type { DescribeLimitsResponse } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { useMeasures } from "./measures.ts";
import { Setting, Settings } from "./setting.tsx";

const said = texts(
  {
    body: "Largest request body",
    bodyTime: "Time for a request body to arrive",
    operatorKey: "Operator key",
    yes: "Configured",
    no: "Not configured: only operators who are signed in may do what it allows",
    durability: "Committed money survives",
    process: "A crash of the process",
    power: "A loss of power",
    unit: "Unit of money",
  },
  {
    body: "请求体大小上限",
    bodyTime: "请求体接收时限",
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
  const { seconds, bytes } = useMeasures();
  const durability = { process: t.process, power: t.power }[of.durability];
  return (
    <Settings>
      <Setting name={t.operatorKey}>{of.operatorKey ? t.yes : t.no}</Setting>
      <Setting name={t.body}>{bytes(of.maxBodyBytes)}</Setting>
      <Setting name={t.bodyTime}>{seconds(of.bodyTimeoutSeconds)}</Setting>
      <Setting name={t.durability}>{durability ?? of.durability}</Setting>
      <Setting name={t.unit}>{of.unit}</Setting>
    </Settings>
  );
}
