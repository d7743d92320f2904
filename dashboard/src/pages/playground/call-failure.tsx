/** Shows why a model call was refused, and what to do about it. */
import { Anchor, Group, Stack } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { texts, useTexts } from "../../language/language.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Reason, refusalOf } from "../../refusal.ts";

const said = texts(
  { recharge: "Recharge the account", keys: "See the key and its limits", models: "See the models" },
  { recharge: "为账户充值", keys: "查看密钥及其限制", models: "查看模型" },
);

type Door = "recharge" | "keys" | "models";

const doors: Partial<Record<Reason, readonly Door[]>> = {
  [Reason.INSUFFICIENT_CREDIT]: ["recharge", "keys"],
  [Reason.RESOURCE_NOT_FOUND]: ["keys"],
  [Reason.INVALID_API_KEY]: ["keys"],
  [Reason.MODEL_NOT_PERMITTED]: ["keys", "models"],
  [Reason.MODEL_UNPRICED]: ["models"],
  [Reason.MODEL_NOT_FOUND]: ["models"],
};

interface Props {
  readonly error: unknown;
  readonly retry?: (() => void) | undefined;
}

export function CallFailure({ error, retry }: Props) {
  const t = useTexts(said);
  const offered = doors[refusalOf(error).reason] ?? [];
  return (
    <Stack gap="xs">
      <Failure error={error} retry={retry} />
      {offered.length > 0 && (
        <Group gap="md">
          {offered.map((door) => (
            <Anchor key={door} component={Link} to={`/${door}`} size="sm">
              {t[door]}
            </Anchor>
          ))}
        </Group>
      )}
    </Stack>
  );
}
