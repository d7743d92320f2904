/** A batch of redeem codes: amount, number of open codes, and the codes themselves when it is expanded. */
import { useMutation } from "@connectrpc/connect-query";
import { Accordion, Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { OperatorService, type RedeemCode } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Moment } from "../../parts/moment.tsx";
import { notify } from "../../parts/notify.ts";
import text from "../../parts/text.module.css";
import { codeState } from "./code-state.ts";
import { CodeTable } from "./code-table.tsx";
import { useForgetAnswers } from "./forget.ts";

const said = texts(
  {
    unnamed: "No note",
    open: (count: string) => `${count} open`,
    claimed: (count: string) => `${count} claimed`,
    expired: (count: string) => `${count} expired`,
    revoked: (count: string) => `${count} revoked`,
    more: "more below",
    revoke: "Revoke the open codes",
    revokeWhat: "Those that nobody has claimed are refused from now on. Claimed ones stay claimed.",
    done: (count: string) => `Codes revoked: ${count}`,
    expires: "Expires",
  },
  {
    unnamed: "无备注",
    open: (count: string) => `${count} 个可用`,
    claimed: (count: string) => `${count} 个已兑换`,
    expired: (count: string) => `${count} 个已过期`,
    revoked: (count: string) => `${count} 个已撤销`,
    more: "还有更多",
    revoke: "撤销可用的兑换码",
    revokeWhat: "尚未兑换的兑换码将立即失效，已兑换的不受影响。",
    done: (count: string) => `已撤销 ${count} 个兑换码`,
    expires: "过期时间",
  },
);

interface Props {
  readonly codes: readonly [RedeemCode, ...RedeemCode[]];
  /** partial is whether more of its codes are on the list's next page. */
  readonly partial: boolean;
}

const states = ["open", "claimed", "expired", "revoked"] as const;

export function Batch({ codes, partial }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const forget = useForgetAnswers();
  const [asking, ask] = useDisclosure();
  const [{ batchId, amount, note, createdAt, expiresAt }] = codes;
  const revoke = useMutation(OperatorService.method.revokeRedeemCodes, {
    onSuccess: ({ revoked }) => {
      ask.close();
      notify(t.done(format.count(revoked)));
      return forget();
    },
  });
  const counts = states.flatMap((state) => {
    const count = codes.filter((code) => codeState(code, Date.now()) === state).length;
    return count > 0 ? [t[state](format.count(count))] : [];
  });
  const isOpen = partial || codes.some((code) => codeState(code, Date.now()) === "open");
  return (
    <Accordion.Item value={batchId}>
      <Accordion.Control>
        <Group justify="space-between" gap="xs">
          <div>
            <Text fw={600} className={text.anywhere}>
              {format.money(amount)} · {note || t.unnamed}
            </Text>
            <Text size="xs" c="dimmed">
              <Moment at={createdAt} />
              {expiresAt && (
                <>
                  {" · "}
                  {t.expires} <Moment at={expiresAt} />
                </>
              )}
            </Text>
          </div>
          <Text size="sm" pe="sm">
            {[...counts, ...(partial ? [t.more] : [])].join(" · ")}
          </Text>
        </Group>
      </Accordion.Control>
      <Accordion.Panel>
        <Stack gap="sm">
          <Group justify="space-between">
            <Text size="xs" c="dimmed" ff="monospace" className={text.anywhere}>
              {batchId}
            </Text>
            {isOpen && (
              <Button size="xs" variant="default" onClick={ask.open}>
                {t.revoke}
              </Button>
            )}
          </Group>
          <CodeTable codes={codes} />
        </Stack>
      </Accordion.Panel>
      <Confirm
        opened={asking}
        onClose={ask.close}
        title={t.revoke}
        action={t.revoke}
        onConfirm={() => revoke.mutate({ batchId })}
        busy={revoke.isPending}
        error={revoke.error}
      >
        {t.revokeWhat}
      </Confirm>
    </Accordion.Item>
  );
}
