/** Redeem codes, grouped by batch. */
import { Accordion, Button, Paper } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconTicket } from "@tabler/icons-react";
import type { RedeemCode } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { PagedList } from "../../parts/paged-list.tsx";
import { Batch } from "./batch.tsx";
import { CreateCodes } from "./create-codes.tsx";
import { useCodes } from "./use-lists.ts";

const said = texts(
  {
    title: "Redeem codes",
    about: "Codes that recharge the account that claims them. They are shown once, when they are created.",
    create: "Create codes",
    none: "No redeem codes yet",
    noneHow: "Create a batch, and hand out or sell its codes.",
  },
  {
    title: "兑换码",
    about: "兑换后为账户充值的代码。代码仅在创建时显示一次。",
    create: "创建兑换码",
    none: "还没有兑换码",
    noneHow: "创建一批兑换码后，即可发放或出售。",
  },
);

export function CodesPage() {
  const t = useTexts(said);
  const [creating, create] = useDisclosure();
  const codes = useCodes();
  return (
    <Page
      title={t.title}
      about={t.about}
      actions={
        <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={create.open}>
          {t.create}
        </Button>
      }
    >
      <PagedList
        of={codes}
        entriesOf={(page) => page.codes}
        empty={
          <Paper withBorder>
            <Empty icon={IconTicket} title={t.none}>
              {t.noneHow}
            </Empty>
          </Paper>
        }
      >
        {(all) => (
          <Accordion variant="separated" multiple order={2}>
            {batchesOf(all).map((batch, place, { length }) => (
              <Batch key={batch[0].batchId} codes={batch} partial={codes.hasNextPage && place === length - 1} />
            ))}
          </Accordion>
        )}
      </PagedList>
      <CreateCodes opened={creating} onClose={create.close} />
    </Page>
  );
}

type Codes = [RedeemCode, ...RedeemCode[]];

/** batchesOf groups codes: those of a batch are adjacent in the list, since they are created at once. */
function batchesOf(codes: readonly RedeemCode[]): Codes[] {
  const batches: Codes[] = [];
  for (const code of codes) {
    const last = batches.at(-1);
    if (last?.[0].batchId === code.batchId) last.push(code);
    else batches.push([code]);
  }
  return batches;
}
