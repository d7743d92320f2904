/** The names of audit events in plain language, by RPC. */
import { texts, useTexts } from "../../language/language.tsx";

const said = texts(
  {
    "SessionService.SignIn": "Sign in",
    "SessionService.SignOut": "Sign out",
    "SessionService.SetUp": "Set up the gateway",
    "SessionService.Register": "Register",
    "SessionService.ResetPassword": "Set a new password by a link",
    "SessionService.ChangePassword": "Change the password",
    "SessionService.EnableSecondFactor": "Turn on the second factor",
    "SessionService.DisableSecondFactor": "Turn off the second factor",
    "SessionService.RevokeSession": "End a session",
    "SessionService.RevokeOtherSessions": "End all other sessions",
    "AccountService.RedeemCode": "Claim a redeem code",
    "AccountService.UpdateBudgets": "Change budgets of the own account",
    "KeyService.CreateKey": "Create an API key",
    "KeyService.UpdateKey": "Change an API key",
    "KeyService.RotateKey": "Rotate an API key",
    "KeyService.DeleteKey": "Delete an API key",
    "KeyService.SetAdministrator": "Change a key's administrator privilege",
    "OperatorService.CreateAccount": "Create an account",
    "OperatorService.UpdateAccount": "Change an account",
    "OperatorService.SwitchAccountKey": "Disable or enable a key of an account",
    "OperatorService.DeleteAccountKey": "Delete a key of an account",
    "OperatorService.RecordEntry": "Record a ledger entry",
    "OperatorService.CreateRedeemCodes": "Create redeem codes",
    "OperatorService.RevokeRedeemCodes": "Revoke redeem codes",
    "OperatorService.UpdateUser": "Change a user's rights",
    "OperatorService.RemoveUser": "Remove a user",
    "OperatorService.CreateLink": "Create a one-time link",
    "OperatorService.ChangeConfiguration": "Change the configuration",
    "OperatorService.RollBackConfiguration": "Roll the configuration back",
    "OperatorService.TestUpstream": "Test an upstream",
    "Credentials.Throttled": "Send too many wrong credentials",
    "Configuration.Exported": "Export the configuration with credentials",
    "Proof.Repaired": "Set a wrong sum right",
  },
  {
    "SessionService.SignIn": "登录",
    "SessionService.SignOut": "退出登录",
    "SessionService.SetUp": "初始化网关",
    "SessionService.Register": "注册",
    "SessionService.ResetPassword": "通过链接设置新密码",
    "SessionService.ChangePassword": "修改密码",
    "SessionService.EnableSecondFactor": "启用两步验证",
    "SessionService.DisableSecondFactor": "停用两步验证",
    "SessionService.RevokeSession": "结束会话",
    "SessionService.RevokeOtherSessions": "结束其他所有会话",
    "AccountService.RedeemCode": "使用兑换码",
    "AccountService.UpdateBudgets": "更改本账户的预算",
    "KeyService.CreateKey": "创建 API 密钥",
    "KeyService.UpdateKey": "更改 API 密钥",
    "KeyService.RotateKey": "轮换 API 密钥",
    "KeyService.DeleteKey": "删除 API 密钥",
    "KeyService.SetAdministrator": "更改密钥的管理员权限",
    "OperatorService.CreateAccount": "创建账户",
    "OperatorService.UpdateAccount": "更改账户",
    "OperatorService.SwitchAccountKey": "停用或启用账户的密钥",
    "OperatorService.DeleteAccountKey": "删除账户的密钥",
    "OperatorService.RecordEntry": "记账",
    "OperatorService.CreateRedeemCodes": "创建兑换码",
    "OperatorService.RevokeRedeemCodes": "撤销兑换码",
    "OperatorService.UpdateUser": "更改用户权限",
    "OperatorService.RemoveUser": "移除用户",
    "OperatorService.CreateLink": "生成一次性链接",
    "OperatorService.ChangeConfiguration": "更改配置",
    "OperatorService.RollBackConfiguration": "回滚配置",
    "OperatorService.TestUpstream": "测试上游",
    "Credentials.Throttled": "多次使用错误凭据",
    "Configuration.Exported": "导出含凭据的配置",
    "Proof.Repaired": "更正错误的合计",
  },
);

/** actions are the RPCs that the audit log records. */
export const actions = Object.keys(said.en) as readonly (keyof typeof said.en)[];

/** useActionNames returns the name of an RPC's action; the RPC's own name if it has none. */
export function useActionNames(): (action: string) => string {
  const names = new Map<string, string>(Object.entries(useTexts(said)));
  return (action) => names.get(action) ?? action;
}
