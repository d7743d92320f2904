/** Tells the steps of an upstream's test in Chinese. */
import { TestReason } from "../../../../gen/modelgateway/v1/reasons_pb.ts";
import { tellReasons } from "../../language/reason-texts.ts";

const addressHint = "请检查地址：多数服务器的地址以 /v1 结尾。如果调用仍能成功，请自行填写模型名称。";

/** stepInChinese tells what came of a step. */
export const stepInChinese = tellReasons(TestReason, {
  MODELS_LISTED: ({ models }) => `列出了 ${models} 个模型。`,
  NO_MODELS_LISTED: "未列出任何模型：上游尚未加载模型，或该密钥无权使用。请在上游加载模型，或指定要调用的模型。",
  MODEL_ANSWERED: ({ model }) => `${model} 已应答。`,
  HOST_NOT_FOUND: ({ host }) => `无法访问：找不到名为 ${host} 的主机。请检查地址。`,
  CONNECTION_REFUSED: ({ host }) =>
    `无法访问：${host} 没有服务在监听。请确认上游正在运行、地址和端口正确，且本机可以访问。`,
  HOST_UNREACHABLE: ({ host }) => `无法访问：本机没有通往 ${host} 的路由。请检查地址和网络。`,
  CONNECTION_BROKEN: ({ host }) => `无法访问：与 ${host} 的连接中断。请确认上游正在运行，且地址正确。`,
  CONNECTION_FAILED: ({ host, code }) =>
    `无法访问：与 ${host} 的连接失败（${code}）。请确认上游正在运行、地址正确，且本机可以访问。`,
  TLS_NOT_SPOKEN: ({ host }) => `无法访问：${host} 不使用 TLS。如确为明文服务，请改写为 http://。`,
  TLS_EXPECTED: ({ host }) => `无法访问：${host} 的应答不是 HTTP。如其使用 TLS，请改写为 https://，并检查端口。`,
  CERTIFICATE_REFUSED: ({ host, code }) =>
    `无法访问：${host} 的证书不受信任（${code}）。请更新证书，或通过 NODE_EXTRA_CA_CERTS 指定其签发机构。`,
  NO_ANSWER: ({ host, milliseconds }) =>
    `无法访问：${host} 在 ${Number(milliseconds) / 1000} 秒内没有应答。请确认上游正在运行、地址正确，且本机可以访问。`,
  CREDENTIAL_REFUSED: ({ status, key = "" }) =>
    `上游拒绝了凭据${key === "" ? "" : `（密钥 ${key}）`}，状态码为 ${status}。请检查密钥。`,
  CREDIT_USED_UP: ({ status }) => `上游以状态码 ${status} 拒绝了调用：您在上游的余额或配额已用尽，请在上游充值。`,
  MODEL_NOT_FOUND: ({ model }) => `上游没有模型 ${model}。请检查名称，以及该密钥是否可以使用它。`,
  RATE_LIMITED: ({ status }) => `上游当前调用过多（状态码 ${status}），请稍后再试。`,
  REDIRECTED: ({ status }) =>
    `上游重定向到其他地址（状态码 ${status}），网关不会跟随。请直接填写该地址，可能需要 https://。`,
  STATUS_REFUSED: ({ status }) => `上游以状态码 ${status} 应答：正在启动、过载或发生故障。请在上游查看原因。`,
  LIST_NOT_FOUND: ({ status }) => `没有可读取的模型列表，状态码为 ${status}。${addressHint}`,
  LIST_NOT_JSON: `没有可读取的模型列表：应答不是 JSON，可能是网页。${addressHint}`,
  LIST_MALFORMED: `没有可读取的模型列表：应答中不含模型。${addressHint}`,
  LIST_TOO_LARGE: ({ most }) => `没有可读取的模型列表：超过 ${most} 个模型。请自行填写模型名称。`,
  CALL_REFUSED: ({ status, words = "" }) =>
    `上游以状态码 ${status} 拒绝了调用${words === "" ? "。请检查地址、类型和模型名称。" : `，其原文为：“${words}”`}`,
  ANSWER_UNUSABLE: "上游对调用的应答不符合此 API。请检查地址，以及上游是否使用此类型的 API。",
  OPERATION_NOT_FOUND: ({ model }) => `上游没有可用于调用 ${model} 的操作。请从上游的 profile 中删除该操作。`,
  KIND_NOT_SERVED: ({ kind }) => `未调用模型：上游不提供 ${kind} 类模型。`,
  STEP_BEFORE_FAILED: "未调用模型：上一步失败。",
  NO_MODEL_KNOWN: "未调用模型：该上游没有已配置的模型，也未列出模型。请指定一个。",
  GATEWAY_FAILED: "调用在网关内部失败，请查看网关日志。",
});
