/** Creates a batch of redeem codes and shows them, only once. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Button, Group, Stack, Text } from "@mantine/core";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { useMadeOnce } from "../../parts/made-once.ts";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { Untold } from "../../parts/untold.tsx";
import { CodesForm, type CodesWanted } from "./codes-form.tsx";
import { useForgetAnswers } from "./forget.ts";

const said = texts(
  {
    title: "Create redeem codes",
    made: "Your redeem codes",
    about: "Each recharges the account that claims it, once.",
    untold: (batchId: string) =>
      `The codes exist, but the answer that told them did not arrive. Revoke the open codes of batch ${batchId} in the list, and create others.`,
    done: "Done",
    close: "Close",
  },
  {
    title: "创建兑换码",
    made: "您的兑换码",
    about: "每个兑换码只能为一个账户充值一次。",
    untold: (batchId: string) =>
      `兑换码已创建，但包含兑换码的应答未能送达。请在列表中撤销批次 ${batchId} 的可用兑换码，然后重新创建。`,
    done: "完成",
    close: "关闭",
  },
);

interface Props {
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function CreateCodes({ opened, onClose }: Props) {
  const t = useTexts(said);
  const forget = useForgetAnswers();
  const create = useMadeOnce(OperatorService.method.createRedeemCodes, { gcTime: 0, onSuccess: () => void forget() });
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
  const told = made !== undefined && made.codes.length > 0;
  return (
    <Dialog opened={opened} onClose={close} title={made ? t.made : t.title} deliberate={made !== undefined}>
      {made ? (
        <Stack>
          {told ? (
            <>
              <Text size="sm">{t.about}</Text>
              <ShownOnce codes={made.codes} fileName={`redeem-codes-${made.batchId}.txt`} />
            </>
          ) : (
            <Untold>{t.untold(made.batchId)}</Untold>
          )}
          <Group justify="flex-end">
            <Button onClick={close}>{told ? t.done : t.close}</Button>
          </Group>
        </Stack>
      ) : (
        <CodesForm busy={create.isPending} error={create.error} onSubmit={submit} onCancel={close} />
      )}
    </Dialog>
  );
}
