/** The kinds of those who cause audit events. */
import { texts, useTexts } from "../../language/language.tsx";

export const actorKinds = ["user", "key", "operator_key", "command_line", "nobody"] as const;

const said = texts(
  {
    user: "User",
    key: "API key",
    operator_key: "Operator key",
    command_line: "Command line",
    nobody: "Not signed in",
  },
  { user: "用户", key: "API 密钥", operator_key: "运营密钥", command_line: "命令行", nobody: "未登录" },
);

export function useActorKinds(): Readonly<Record<(typeof actorKinds)[number], string>> {
  return useTexts(said);
}
