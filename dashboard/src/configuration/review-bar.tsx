/**
 * ReviewBar ends a form of the configuration: it says why changes were refused, has the buttons of the form, and the dialog in which the
 * changes are reviewed and saved.
 */
import { Button, Group } from "@mantine/core";
import type { ReactNode } from "react";
import { texts, useTexts } from "../language/language.tsx";
import { Faults } from "./faults.tsx";
import { SaveChanges } from "./save-changes.tsx";
import type { Review } from "./use-review.ts";

const said = texts({ review: "Review and save", undo: "Undo" }, { review: "检查并保存", undo: "撤销" });

interface Props {
  readonly of: Review;
  /** formId is the form that the button submits. */
  readonly formId: string;
  /** title is that of the dialog. */
  readonly title: string;
  readonly onSaved: (version: number) => void;
  /** isChanged is whether there is anything to review. */
  readonly isChanged?: boolean;
  /** onUndo puts back what was there; unset: there is no such button. */
  readonly onUndo?: () => void;
  /** first is a button that stands before the others, whatever is changed. */
  readonly first?: ReactNode;
  /** children tell in the dialog what will happen. */
  readonly children?: ReactNode;
}

export function ReviewBar({ of, formId, title, onSaved, isChanged = true, onUndo, first, children }: Props) {
  const t = useTexts(said);
  return (
    <>
      {of.error && <Faults of={of.error} />}
      {(isChanged || first) && (
        <Group>
          {first}
          {isChanged && (
            <Button type="submit" form={formId} size="sm" loading={of.busy} disabled={of.isLocked}>
              {t.review}
            </Button>
          )}
          {isChanged && onUndo && (
            <Button variant="default" size="sm" onClick={onUndo}>
              {t.undo}
            </Button>
          )}
        </Group>
      )}
      <SaveChanges
        opened={of.reviewed !== undefined}
        onClose={of.close}
        title={title}
        base={of.base}
        changes={of.reviewed ?? []}
        onSaved={onSaved}
      >
        {children}
      </SaveChanges>
    </>
  );
}
