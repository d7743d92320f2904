/** Creates a batch of redeem codes and shows them, only once. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Stack, Text } from "@mantine/core";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { CodesForm, type CodesWanted } from "./codes-form.tsx";
import { useForgetAnswers } from "./forget.ts";

const said = texts(
  {
    title: "Create redeem codes",
    made: "Your redeem codes",
    about: "Each recharges the account that claims it, once.",
    done: "Done",
  },
  { title: "创建兑换码", made: "您的兑换码", about: "每个兑换码只能为一个账户充值一次。", done: "完成" },
);

interface Props {
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function CreateCodes({ opened, onClose }: Props) {
  const t = useTexts(said);
  const forget = useForgetAnswers();
  const create = useMutation(OperatorService.method.createRedeemCodes, { onSuccess: () => void forget() });
  const close = () => {
    onClose();
    create.reset();
  };
  const submit = ({ expiresAt, note, ...rest }: CodesWanted) =>
    create.mutate({
      ...rest,
      ...(note ? { note } : {}),
      ...(expiresAt ? { expiresAt: timestampFromDate(expiresAt) } : {}),
    });
  const made = create.data;
  return (
    <Dialog opened={opened} onClose={close} title={made ? t.made : t.title} deliberate={made !== undefined}>
      {made ? (
        <Stack>
          <Text size="sm">{t.about}</Text>
          <ShownOnce codes={made.codes} fileName={`redeem-codes-${made.batchId}.txt`} />
          <Group justify="flex-end">
            <Button onClick={close}>{t.done}</Button>
          </Group>
        </Stack>
      ) : (
        <CodesForm busy={create.isPending} error={create.error} onSubmit={submit} onCancel={close} />
      )}
    </Dialog>
  );
}
