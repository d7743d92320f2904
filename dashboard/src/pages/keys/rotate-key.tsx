/** Gives a key a new secret and shows it. The previous secret stays valid for the selected time. */
import { Radio, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { type ApiKey, KeyService } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Failure } from "../../parts/failure.tsx";
import { FormButtons } from "../../parts/form-buttons.tsx";
import { useMadeOnce } from "../../parts/made-once.ts";
import { MakingDialog } from "../../parts/making-dialog.tsx";
import { useForgetKeys } from "./forget.ts";
import { ShownSecret } from "./shown-secret.tsx";

const said = texts(
  {
    title: (name: string) => `Rotate “${name}”`,
    about: "The key gets a new secret. Its name, limits and usage stay.",
    overlap: "The current secret stops working",
    "0": "At once",
    "3600": "In an hour",
    "86400": "In a day",
    "604800": "In 7 days",
    before: "The secret before it, which an earlier rotation left working, stops at once.",
    action: "Rotate",
    done: (name: string) => `New secret for “${name}”`,
  },
  {
    title: (name: string) => `轮换“${name}”`,
    about: "为此密钥生成新的密钥内容，名称、限制和用量保持不变。",
    overlap: "当前密钥内容的失效时间",
    "0": "立即",
    "3600": "1 小时后",
    "86400": "1 天后",
    "604800": "7 天后",
    before: "此前轮换后仍有效的旧密钥内容将立即失效。",
    action: "轮换",
    done: (name: string) => `“${name}”的新密钥内容`,
  },
);

const overlaps = ["0", "3600", "86400", "604800"] as const;

interface Props {
  readonly of: ApiKey;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function RotateKey({ of, opened, onClose }: Props) {
  const t = useTexts(said);
  return (
    <MakingDialog<ApiKey>
      {...{ opened, onClose, title: t.title(of.name), size: "lg" }}
      madeTitle={() => t.done(of.name)}
      form={(onRotated, onCancel) => <Choosing {...{ of, onRotated, onCancel }} />}
      shown={(rotated, close) => <ShownSecret of={rotated} onClose={close} />}
    />
  );
}

interface ChoosingProps {
  readonly of: ApiKey;
  readonly onRotated: (key: ApiKey) => void;
  readonly onCancel: () => void;
}

function Choosing({ of, onRotated, onCancel }: ChoosingProps) {
  const t = useTexts(said);
  const [overlap, setOverlap] = useState<string>("86400");
  const rotate = useMadeOnce(KeyService.method.rotateKey, { gcTime: 0, onSettled: useForgetKeys() });
  const submit = () =>
    rotate.mutate({ id: of.id, overlapSeconds: Number(overlap) }, { onSuccess: ({ key }) => key && onRotated(key) });
  return (
    <Stack>
      <Text size="sm">{t.about}</Text>
      <Radio.Group label={t.overlap} value={overlap} onChange={setOverlap}>
        <Stack gap="xs" mt="xs">
          {overlaps.map((seconds) => (
            <Radio key={seconds} value={seconds} label={t[seconds]} data-autofocus={seconds === overlap || undefined} />
          ))}
        </Stack>
      </Radio.Group>
      {of.previousSecretExpiresAt && (
        <Text size="sm" c="dimmed">
          {t.before}
        </Text>
      )}
      {rotate.error && <Failure error={rotate.error} />}
      <FormButtons action={t.action} busy={rotate.isPending} onAction={submit} onCancel={onCancel} />
    </Stack>
  );
}
