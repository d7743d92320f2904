/** Creates a link by which a user sets a new password. */
import { Stack, Text } from "@mantine/core";
import { OperatorService, type User } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Failure } from "../../parts/failure.tsx";
import { FormButtons } from "../../parts/form-buttons.tsx";
import { useMadeOnce } from "../../parts/made-once.ts";
import { ShownLink } from "./shown-link.tsx";

const said = texts(
  {
    title: "Password reset link",
    about: (email: string) =>
      `With this link, ${email} can set a new password within 3 days. The current password works until then; a second factor stays on.`,
    make: "Make the link",
    told: (email: string) => `Send this link to ${email}. It works once.`,
  },
  {
    title: "重置密码链接",
    about: (email: string) => `${email} 可在 3 天内通过该链接设置新密码。在此之前原密码仍然有效，两步验证保持不变。`,
    make: "生成链接",
    told: (email: string) => `请将此链接发送给 ${email}。链接只能使用一次。`,
  },
);

interface Props {
  readonly user: User;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function ResetLink({ user, opened, onClose }: Props) {
  const t = useTexts(said);
  return (
    <Dialog opened={opened} onClose={onClose} title={t.title}>
      <Making user={user} onClose={onClose} />
    </Dialog>
  );
}

function Making({ user, onClose }: Omit<Props, "opened">) {
  const t = useTexts(said);
  const link = useMadeOnce(OperatorService.method.createLink, { gcTime: 0 });
  const make = () => link.mutate({ userId: user.id });
  if (link.data)
    return <ShownLink link={link.data} about={t.told(user.email)} onAnother={link.reset} onClose={onClose} />;
  return (
    <Stack>
      <Text size="sm">{t.about(user.email)}</Text>
      {link.error && <Failure error={link.error} />}
      <FormButtons action={t.make} busy={link.isPending} onAction={make} onCancel={onClose} />
    </Stack>
  );
}
