/** Tells in Chinese what a call conflicts with. */
import { ConflictReason } from "../../../gen/modelgateway/v1/reasons_pb.ts";
import { tellReasons } from "./reason-texts.ts";

/** lockedInChinese says that the stored configuration cannot be opened, and what to do. */
export const lockedInChinese =
  "无法打开已存储的配置：请将 GATEWAY_CONFIG_KEY、GATEWAY_CONFIG_KEY_FILE 或 config_key_file 设为加密时使用的密钥；未使用 Postgres 时，请将原数据目录中的 configuration.key 放回原处。";

export const conflictInChinese = tellReasons(ConflictReason, {
  CODE_CLAIMED: "此兑换码已被使用，每个兑换码只能使用一次。",
  CREDITED_IN_FULL: ({ most, unit }) =>
    `为确保金额精确，一个账户累计最多入账 ${most} ${unit}。请减少金额，或使用新账户。`,
  REFUND_TOO_LARGE: ({ amount, most, unit }) =>
    `无法退款 ${amount} ${unit}：在已充值且未使用的金额中，最多可退 ${most} ${unit}。请减少金额。`,
  ZONE_BOUND: "网关管理员为此账户设置了按其时区计算的日、周或月预算。如需更改时区，请联系网关管理员。",
  KEYS_FULL: ({ most }) => `账户已有 ${most} 个 API 密钥，达到上限。请删除不再使用的密钥。`,
  ACCOUNT_NAME_TAKEN: ({ name }) => `已有名为“${name}”的账户，请使用其他名称。`,
  EMAIL_TAKEN: ({ email }) => `邮箱 ${email} 已注册，请直接登录或使用其他邮箱。`,
  OWN_ACCOUNT: "这是您自己的账户，停用后您将无法再登录。请由另一位网关管理员停用。",
  LAST_OPERATOR: "没有其他网关管理员，请先将另一位用户设为网关管理员。",
  SECOND_FACTOR_ENABLED: "您已启用两步验证，请先将其关闭。",
  SECOND_FACTOR_NOT_BEGUN: "没有待启用的两步验证，请重新开始。",
  RESPONSE_UNDER_WAY: ({ id }) => `应答 ${id} 仍在生成，请先取消。`,
  CONNECTION_BUSY: "此连接上有应答正在进行，请等待其结束，或另开一个连接。",
  NOT_SERVING: "只有正在提供服务的网关才能测试上游。",
  CONFIGURATION_CHANGED: ({ version, paths }) =>
    `配置已被更改为版本 ${version}：${paths}。请查看后在该版本上重新更改。`,
  CONFIGURATION_LOCKED: lockedInChinese,
  SEAL_KEY_MISSING:
    "没有用于加密凭据的密钥：请在每个节点上将 GATEWAY_CONFIG_KEY 设为相同的 32 字节（十六进制或 base64，可用 openssl rand -hex 32 生成），或将 GATEWAY_CONFIG_KEY_FILE 设为存放密钥的文件路径，然后重新启动。",
  SEAL_KEY_MALFORMED: ({ where }) => `${where}：应为 32 字节的十六进制或 base64，多个之间以逗号分隔。`,
  SEAL_KEY_UNREADABLE: ({ path, code }) => `无法读取加密凭据的密钥文件 ${path}（${code}），请允许网关读取。`,
  SEAL_KEY_UNWRITABLE: ({ path, code }) => `无法写入加密凭据的密钥文件 ${path}（${code}），请允许网关写入。`,
});
