/** Creates an account and opens its page. */
import { Switch } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { useMadeOnce } from "../../parts/made-once.ts";
import { notify } from "../../parts/notify.ts";
import { useForgetAnswers } from "./forget.ts";
import { NameForm } from "./name-form.tsx";

const said = texts(
  {
    title: "Create account",
    postpaid: "Postpaid",
    postpaidMeans: "It is billed afterwards: its balance may go below zero.",
    create: "Create",
    done: (name: string) => `Created ${name}`,
  },
  {
    title: "创建账户",
    postpaid: "后付费",
    postpaidMeans: "事后结算，余额可以为负。",
    create: "创建",
    done: (name: string) => `已创建 ${name}`,
  },
);

interface Props {
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function CreateAccount({ opened, onClose }: Props) {
  const t = useTexts(said);
  return (
    <Dialog opened={opened} onClose={onClose} title={t.title}>
      <Form onClose={onClose} />
    </Dialog>
  );
}

function Form({ onClose }: { readonly onClose: () => void }) {
  const t = useTexts(said);
  const forget = useForgetAnswers();
  const navigate = useNavigate();
  const [postpaid, setPostpaid] = useState(false);
  const create = useMadeOnce(OperatorService.method.createAccount, {
    onSuccess: async ({ account }) => {
      notify(t.done(account?.name ?? ""));
      onClose();
      void forget();
      await navigate({ to: "/operator/accounts/$accountId", params: { accountId: account?.id ?? "" } });
    },
  });
  return (
    <NameForm
      name=""
      action={t.create}
      busy={create.isPending}
      error={create.error}
      onSubmit={(name) => create.mutate({ name, postpaid })}
      onCancel={onClose}
    >
      <Switch
        label={t.postpaid}
        description={t.postpaidMeans}
        checked={postpaid}
        onChange={(event) => setPostpaid(event.currentTarget.checked)}
      />
    </NameForm>
  );
}
