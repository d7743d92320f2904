/** The operator's actions on an account: rename, change billing, suspend. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Stack, Switch } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { Account } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Failure } from "../../parts/failure.tsx";
import { notify } from "../../parts/notify.ts";
import { Section } from "../../parts/section.tsx";
import { useForgetAnswers } from "./forget.ts";
import { NameForm } from "./name-form.tsx";

const said = texts(
  {
    title: "Change the account",
    postpaid: "Postpaid",
    postpaidMeans: "It is billed afterwards: its balance may go below zero, and models without a price may be called.",
    rename: "Rename",
    save: "Save",
    suspend: "Suspend",
    suspendWhat: "Its calls are refused at once, and its users are signed out. Money and keys stay as they are.",
    reinstate: "Reinstate",
    reinstateWhat: "Its keys work again, and its users may sign in.",
    done: "The account is changed",
  },
  {
    title: "更改账户",
    postpaid: "后付费",
    postpaidMeans: "事后结算：余额可以为负，也可以调用未定价的模型。",
    rename: "重命名",
    save: "保存",
    suspend: "停用",
    suspendWhat: "其调用会立即被拒绝，用户会被退出登录。余额和密钥保持不变。",
    reinstate: "恢复",
    reinstateWhat: "其密钥将恢复可用，用户可重新登录。",
    done: "账户已更改",
  },
);

export function AccountActions({ account }: { readonly account: Account }) {
  const t = useTexts(said);
  const forget = useForgetAnswers();
  const [renaming, rename] = useDisclosure();
  const [asking, ask] = useDisclosure();
  const update = useMutation(OperatorService.method.updateAccount, {
    onSuccess: () => {
      rename.close();
      ask.close();
      notify(t.done);
      return forget();
    },
  });
  const change = (to: { name?: string; suspended?: boolean; postpaid?: boolean }) =>
    update.mutate({ account: account.id, ...to });
  const begin = (open: () => void) => () => {
    update.reset();
    open();
  };
  const isSuspended = account.suspendedAt !== undefined;
  const action = isSuspended ? t.reinstate : t.suspend;
  return (
    <Section title={t.title}>
      <Stack>
        <Switch
          label={t.postpaid}
          description={t.postpaidMeans}
          checked={account.postpaid}
          disabled={update.isPending}
          onChange={(event) => change({ postpaid: event.currentTarget.checked })}
        />
        {update.error && !renaming && !asking && <Failure error={update.error} />}
        <Group>
          <Button variant="default" onClick={begin(rename.open)}>
            {t.rename}
          </Button>
          <Button variant="default" onClick={begin(ask.open)}>
            {action}
          </Button>
        </Group>
      </Stack>
      <Dialog opened={renaming} onClose={rename.close} title={t.rename}>
        <NameForm
          name={account.name}
          action={t.save}
          busy={update.isPending}
          error={update.error}
          onSubmit={(name) => change({ name })}
          onCancel={rename.close}
        />
      </Dialog>
      <Confirm
        opened={asking}
        onClose={ask.close}
        title={action}
        name={account.name}
        action={action}
        onConfirm={() => change({ suspended: !isSuspended })}
        busy={update.isPending}
        error={update.error}
      >
        {isSuspended ? t.reinstateWhat : t.suspendWhat}
      </Confirm>
    </Section>
  );
}
