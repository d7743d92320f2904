/** The person or credential that made a version. */
import type { ConfigurationAuthor } from "../../../gen/modelgateway/v1/configuration_pb.ts";
import { texts, useTexts } from "../language/language.tsx";

const said = texts(
  { operator_key: "Operator key", command_line: "Command line", user: "A user who is gone", unknown: "Unknown" },
  { operator_key: "运营密钥", command_line: "命令行", user: "已移除的用户", unknown: "未知" },
);

export function useAuthorName(): (author: ConfigurationAuthor | undefined) => string {
  const t = useTexts(said);
  const names = new Map(Object.entries({ operator_key: t.operator_key, command_line: t.command_line, user: t.user }));
  return (author) => author?.name || (names.get(author?.kind ?? "") ?? t.unknown);
}
