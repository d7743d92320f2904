/**
 * Tells faults of a document in the reader's language. The gateway's own message is the English text; other languages have one for each
 * reason, and the message stands where a reason is not known here.
 */
import type { DocumentFault } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { FaultReason } from "../../../gen/modelgateway/v1/reasons_pb.ts";

type Parameters = Readonly<Record<string, string>>;
type Text = string | ((of: Parameters) => string);

/** faultTextsInChinese has a text for each reason. */
const faultTextsInChinese: Readonly<Record<Exclude<keyof typeof FaultReason, "UNSPECIFIED">, Text>> = {
  FILE_UNREADABLE: ({ code }) => `无法读取文件（${code}）`,
  FILE_EMPTY: "文件为空，可能是写入未完成。如需留空，请写入 {}",
  YAML_BROKEN: ({ code = "" }) => `不是有效的 YAML：${yamlProblems.get(code) ?? code}`,
  VARIABLE_NEEDED: ({ variable }) => `缺少此项，且未设置环境变量 ${variable}`,
  REPLICA_ALONE: "已设置副本地址，但未设置其主库地址 DATABASE_URL",
  PORT_TAKEN: ({ port }) => `端口 ${port} 同时用于调用和指标，请改用不同的端口`,
  VARIABLE_UNSET: ({ variable }) => `未设置环境变量 ${variable}`,
  VARIABLE_FILE_UNREADABLE: ({ variable, code }) => `无法读取 ${variable}_FILE 指向的文件（${code}）`,
  MISSING: "缺少此项",
  KEY_UNKNOWN: "没有此配置项",
  KEY_FORBIDDEN: "不能使用此名称（JavaScript 的保留名称），请改用其他名称",
  BOOLEAN_EXPECTED: "应为 true 或 false，不加引号",
  NUMBER_WITHIN_EXPECTED: ({ least, most }) => `应为 ${least} 至 ${most} 之间的整数`,
  NUMBER_OR_OFF_EXPECTED: ({ least, most }) => `应为 ${least} 至 ${most} 之间的整数，或 off`,
  NUMBER_EXPECTED: "应为数字，不加引号",
  WHOLE_NUMBER_EXPECTED: "应为整数",
  TEXT_EXPECTED: "应为文本，请加引号",
  LIST_EXPECTED: "应为列表，例如 [a, b]",
  KEYS_EXPECTED: "应为键和值，写法见 gateway.example.yaml",
  ACCELERATORS_EXPECTED: ({ names }) => `应为 off，或以逗号分隔的名称：${names}`,
  PAIRS_EXPECTED: "应为 name=value,name=value",
  AUTO_OR_NUMBER_EXPECTED: ({ most }) => `应为 auto，或 1 至 ${most} 之间的整数`,
  VALUE_INVALID: "取值无效",
  VALUE_EXPECTED: ({ value }) => `应为 ${value}`,
  ONE_OF_EXPECTED: ({ values }) => `应为以下之一：${values}`,
  TOO_SMALL: ({ least }) => `不得小于 ${least}`,
  NOT_ABOVE: ({ bound }) => `应大于 ${bound}`,
  TOO_LARGE: ({ most }) => `不得大于 ${most}`,
  NOT_BELOW: ({ bound }) => `应小于 ${bound}`,
  TOO_SHORT: ({ least }) => `至少 ${least} 个字符`,
  TOO_LONG: ({ most }) => `最多 ${most} 个字符`,
  TOO_FEW: ({ least }) => `至少 ${least} 项`,
  TOO_MANY: ({ most }) => `最多 ${most} 项`,
  NAME_EXPECTED: "名称只能包含字母、数字、`.`、`_` 和 `-`",
  MODEL_ID_EXPECTED: "模型 ID 只能包含 ASCII 字母、数字和符号，最多 200 个字符",
  MODEL_NAME_EXPECTED: "模型名称不能包含空格，最多 200 个字符",
  MODEL_PATTERN_EXPECTED: "应为模型名称，* 代表任意文本，? 代表任意一个字符",
  TIER_NAME_EXPECTED: "等级名称须为 1 至 100 个字符",
  HEADER_NAME_EXPECTED: "应为请求头名称",
  HEADER_OF_GATEWAY: "应为其他请求头：此请求头由网关自行写入",
  QUERY_NAME_EXPECTED: "应为查询参数名称",
  REQUEST_KEY_EXPECTED: "应为请求中的字段，例如 top_k 或 messages[].name",
  ADDRESS_EXPECTED: "应为以 http:// 或 https:// 开头的地址",
  ADDRESS_NOT_PLAIN: "地址不能包含用户名、`?` 和 `#`",
  ADDRESS_OF_CLOUD: "应为上游地址：这是云平台自身服务的地址，不提供任何模型",
  REDIS_ADDRESS_EXPECTED: "应为 redis://主机:6379，使用 TLS 时为 rediss://，可带 用户:密码@ 和 /数据库",
  POSTGRES_ADDRESS_EXPECTED: "应为 postgres://用户:密码@主机:5432/数据库",
  REDIS_PREFIX_EXPECTED: "最多 100 个 ASCII 字符，不含空格和花括号",
  UNIT_CODE_EXPECTED: "应为 3 至 10 个大写字母，例如 JPY",
  UNIT_SYMBOL_EXPECTED: "应为 1 至 10 个字符，例如 ¥",
  SEAL_KEY_EXPECTED: "应为 32 字节的十六进制或 base64，多个之间以逗号分隔",
  WORKERS_EXPECTED: "应为 auto，或工作进程的数量（整数）",
  BODIES_TOO_SMALL: ({ least, largest }) => `不得小于 ${least}，以容纳 max_body_bytes（${largest}）大小的请求体`,
  ORIGIN_EXPECTED: "应为网页来源，例如 https://app.example.com，或 *",
  NETWORK_EXPECTED: "应为地址或网段，例如 10.0.0.0/8",
  PATH_EXPECTED: "应为路径，例如 /models",
  OPERATION_PATH_EXPECTED: "应为 base_url 之下的路径，例如 /chat/completions",
  DATE_EXPECTED: "应为日期，例如 2026-01-31",
  CREDENTIAL_NOT_ASCII: "密钥只能包含 ASCII 字符，不能包含换行",
  CREDENTIAL_QUOTED: "密钥两端不要加引号",
  CREDENTIAL_WITH_SCHEME: "只填写密钥本身，`Bearer` 由网关添加",
  DECIMAL_EXPECTED: '应为加引号的小数，例如 "1.10"',
  DECIMAL_MALFORMED: '应为小数，例如 "12.50"',
  DECIMAL_TOO_FINE: ({ places }) => `小数最多 ${places} 位`,
  AMOUNT_OUT_OF_BOUNDS: "不得小于 0，且应小于 1000000000",
  FACTOR_ZERO: "应大于 0：系数为 0 会使全部免费",
  UNPRICED_EXPECTED: "应为 free_for_first_account、free、refused，或 {price: {…}}，金额为加引号的小数",
  KEY_AND_KEYS: "api_key 与 api_keys 只能使用其一",
  OPERATION_NEEDED: "至少需要一个操作",
  WEIGHTS_ZERO: "所有目标的权重均为 0：请为其中之一设置权重，或删除该模型",
  BOUND_NOT_ASCENDING: "应大于前一档的界限",
  TIER_NOT_FROM_ZERO: '第一个等级应为 "0"，每个账户从一开始就属于它',
  TIER_NOT_ASCENDING: "应大于前一等级的值",
  TIER_TAKEN: ({ name }) => `已有名为“${name}”的等级`,
  UPSTREAM_TAKEN: ({ name }) => `已有名为“${name}”的上游`,
  UPSTREAM_RESERVED: ({ name }) => `“${name}”是内置模型的名称，请改用其他名称`,
  UPSTREAM_UNKNOWN: ({ name }) => `没有名为“${name}”的上游`,
  UPSTREAM_REMOVED: ({ name }) => `没有名为“${name}”的上游。请同时删除该模型、为其设置其他目标，或改为停用该上游`,
  VENDOR_UNKNOWN: ({ name, vendors }) => `没有名为“${name}”的供应商；现有：${vendors}`,
  MODEL_TAKEN: ({ name }) => `已有名为“${name}”的模型或别名`,
  MODEL_WITHOUT_TARGET: ({ model }) => `“${model}”没有目标，也没有以其供应商命名的上游`,
  MODEL_LEFT_BEHIND: ({ model }) =>
    `“${model}”没有目标，也没有以其供应商命名的上游。请同时删除该模型、为其设置其他目标，或改为停用该上游`,
  KIND_NOT_SERVED: ({ model, kind, upstream_kind, kinds }) =>
    `“${model}”的类型为 ${kind}，而类型为 ${upstream_kind} 的上游只提供 ${kinds}`,
  PROFILE_LACKS_KIND: ({ upstream, kind }) => `“${upstream}”的 profile 在 operations 中没有 ${kind} 类模型的路径`,
  PROFILE_NOT_TAKEN: "只有 openai 类型的上游可以设置 profile，请将其删除",
  RESPONSES_PATH_NEEDED: ({ value }) => `“${value}”需要 operations.responses，即此类调用的路径`,
  EFFORT_NOT_TAKEN: ({ efforts, effort }) => `应为 efforts（${efforts}）之一，而不是 ${effort}`,
  EFFORTS_EMPTY: ({ effort }) => `efforts 为空，不能使用 ${effort}`,
  IN_FILE: ({ file }) => `写在 ${file} 中，请在该文件中更改`,
  IN_ENVIRONMENT: "由环境变量（其供应商的变量）提供，请在环境变量中更改",
  NOT_STORED: "已存储的配置中没有此名称",
  LIST_AS_SETTING: "请逐项更改其中的条目，或更改整个文档",
  NOT_OPERATIONAL: "此项属于进程设置，或不是配置项：只能写在 gateway.yaml 中",
  VARIABLE_REFUSED: "只有 gateway.yaml 可以引用变量，请填写值本身",
  MASK_UNKNOWN: "这是掩码，此处没有与之对应的已存储密钥，请填写密钥本身",
  MASK_MOVED: "地址已更改，已存储的密钥只会发往其存储时的地址，请填写密钥本身",
  DOCUMENT_TOO_LARGE: ({ most }) => `文档的 JSON 超过 ${most} 个字符`,
};

/** yamlProblems are the parser's errors that people make. */
const yamlProblems: ReadonlyMap<string, string> = new Map([
  ["BAD_INDENT", "缩进有误，同一层的各项须左对齐"],
  ["TAB_AS_INDENT", "缩进不能使用制表符"],
  ["DUPLICATE_KEY", "同一个键出现了两次"],
  ["MISSING_CHAR", "缺少字符，例如引号、括号、逗号或冒号"],
  ["UNEXPECTED_TOKEN", "此处出现了意外的内容"],
  ["BLOCK_AS_IMPLICIT_KEY", "嵌套的键须另起一行并缩进"],
  ["MULTILINE_IMPLICIT_KEY", "键不能跨行，可能缺少冒号"],
  ["BAD_SCALAR_START", "值以不允许的字符开头，请加引号"],
  ["BAD_DQ_ESCAPE", "双引号中的转义无效"],
  ["MULTIPLE_DOCS", "文件中有多个文档"],
  ["BAD_ALIAS", "引用的锚点不存在"],
]);

const texts: ReadonlyMap<number, Text> = new Map(
  Object.entries(faultTextsInChinese).map(([reason, text]) => [FaultReason[reason as keyof typeof FaultReason], text]),
);

/** faultInChinese returns what is wrong; undefined where the reason is not known here. */
export function faultInChinese({
  reason,
  parameters,
}: Pick<DocumentFault, "reason" | "parameters">): string | undefined {
  const text = texts.get(reason);
  return typeof text === "function" ? text(parameters) : text;
}
