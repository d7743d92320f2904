/** Creates a link to register. */
import { Select, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Failure } from "../../parts/failure.tsx";
import { FormButtons } from "../../parts/form-buttons.tsx";
import { useMadeOnce } from "../../parts/made-once.ts";
import { ShownLink } from "./shown-link.tsx";

const said = texts(
  {
    title: "Invite a user",
    email: "E-mail address",
    emailHint: "The link works for this address only. Leave it empty to let anybody who has the link use it.",
    badEmail: "Enter an e-mail address, such as name@example.com",
    account: "Account",
    accountHint:
      "The account to join, by its name or acc_…. Leave it empty to give whoever registers an account of their own.",
    valid: "Valid for",
    hour: "1 hour",
    day: "1 day",
    threeDays: "3 days",
    week: "7 days",
    month: "30 days",
    make: "Make the link",
    told: "Send this link to the person you invite. It works once.",
  },
  {
    title: "邀请用户",
    email: "邮箱",
    emailHint: "链接仅适用于此邮箱。留空则任何持有链接的人都可使用。",
    badEmail: "请输入邮箱地址，例如 name@example.com",
    account: "账户",
    accountHint: "要加入的账户，填写名称或 acc_…。留空则注册者会获得自己的账户。",
    valid: "有效期",
    hour: "1 小时",
    day: "1 天",
    threeDays: "3 天",
    week: "7 天",
    month: "30 天",
    make: "生成链接",
    told: "请将此链接发送给被邀请者。链接只能使用一次。",
  },
);

interface Props {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** account is the account to invite to, if it is fixed. */
  readonly account?: string;
}

export function Invite({ opened, onClose, account }: Props) {
  const t = useTexts(said);
  return (
    <Dialog opened={opened} onClose={onClose} title={t.title}>
      <Invitation onClose={onClose} account={account} />
    </Dialog>
  );
}

const hour = 3600;

function Invitation({ onClose, account }: { readonly onClose: () => void; readonly account: string | undefined }) {
  const t = useTexts(said);
  const link = useMadeOnce(OperatorService.method.createLink, { gcTime: 0 });
  const form = useForm({
    initialValues: { email: "", account: account ?? "", valid: String(72 * hour) },
    validate: { email: (text) => (text.trim() === "" || /^[^\s@]+@[^\s@]+$/.test(text.trim()) ? null : t.badEmail) },
  });
  if (link.data) return <ShownLink link={link.data} about={t.told} onAnother={link.reset} onClose={onClose} />;
  const submit = form.onSubmit(({ email, account, valid }) =>
    link.mutate({
      ...(email.trim() ? { email: email.trim() } : {}),
      ...(account.trim() ? { account: account.trim() } : {}),
      validSeconds: Number(valid),
    }),
  );
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label={t.email}
          description={t.emailHint}
          type="email"
          autoComplete="off"
          data-autofocus
          {...form.getInputProps("email")}
        />
        <TextInput
          label={t.account}
          {...(account === undefined ? { description: t.accountHint } : { variant: "filled" })}
          readOnly={account !== undefined}
          autoComplete="off"
          {...form.getInputProps("account")}
        />
        <Select
          label={t.valid}
          allowDeselect={false}
          data={[
            { value: String(hour), label: t.hour },
            { value: String(24 * hour), label: t.day },
            { value: String(72 * hour), label: t.threeDays },
            { value: String(168 * hour), label: t.week },
            { value: String(720 * hour), label: t.month },
          ]}
          {...form.getInputProps("valid")}
        />
        {link.error && <Failure error={link.error} />}
        <FormButtons action={t.make} busy={link.isPending} onCancel={onClose} />
      </Stack>
    </form>
  );
}
