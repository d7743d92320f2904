/** The places of the dashboard as items: pages, sections of settings, single settings, and pages of the documentation. */
import { IconAdjustments, IconBook, IconSettings } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { type ShownPlace, usePlaces as useNavigationPlaces } from "../frame/navigation.tsx";
import { texts, useTexts } from "../language/language.tsx";
import { limitSections } from "../pages/limits/limit-sections.ts";
import { sectionTexts, settingNames } from "../pages/limits/setting-texts.ts";
import { type SectionName, settingSections } from "../pages/limits/settings.ts";
import { ownSections } from "../pages/settings/own-sections.ts";
import { useSession } from "../session.tsx";
import { useBothNames } from "./both-names.ts";
import { docsAddresses, docsTitles } from "./docs-pages.ts";
import type { Item } from "./item.ts";
import { pageContents } from "./page-contents.ts";

const said = texts(
  {
    settings: "Settings",
    limits: "Limits and settings",
    within: (page: string, section: string) => `${page} · ${section}`,
    docs: "Documentation",
  },
  {
    settings: "设置",
    limits: "限制与设置",
    within: (page: string, section: string) => `${page} · ${section}`,
    docs: "文档",
  },
);

const docsPages = texts(docsTitles.english, docsTitles.chinese);

export interface Places {
  readonly own: readonly Item[];
  readonly operators: readonly Item[];
  readonly settings: readonly Item[];
  readonly docs: readonly Item[];
}

/** useShownPlaces returns what the reader may open. */
export function useShownPlaces(operator: boolean): Places {
  const navigate = useNavigate();
  const { own, operators } = useNavigationPlaces();
  const contentsOf = useBothNames(pageContents);
  const page = ({ to, names, icon }: ShownPlace): Item => {
    const name = to.slice(1);
    const contents = isOfContents(name) ? contentsOf(name) : [];
    return {
      ...{ id: to, names, icon, about: contents[0], contents },
      run: () => void navigate({ to }),
    };
  };
  const settings = useSettings();
  return {
    own: own.map(page),
    operators: operator ? operators.map(page) : [],
    settings: [...settings.own, ...(operator ? settings.operators : [])],
    docs: useDocs(),
  };
}

function isOfContents(name: string): name is keyof typeof pageContents.en {
  return Object.hasOwn(pageContents.en, name);
}

function useSettings() {
  const t = useTexts(said);
  const navigate = useNavigate();
  const sections = useTexts(sectionTexts);
  const [namesOf, nameOfSection] = [useBothNames(settingNames), useBothNames(sectionTexts)];
  const [nameOfOwn, nameOfLimits] = [useBothNames(ownSections), useBothNames(limitSections)];
  const at = (to: "/settings" | "/operator/limits", hash: string) => () => void navigate({ to, hash });
  const section = (id: string, names: readonly string[], to: "/settings" | "/operator/limits"): Item => ({
    ...{ id: `${to}#${id}`, names, about: to === "/settings" ? t.settings : t.limits },
    icon: to === "/settings" ? IconSettings : IconAdjustments,
    run: at(to, id),
  });
  const single = (name: SectionName, path: keyof typeof settingNames.en): Item => ({
    ...{ id: path, names: namesOf(path), marks: [path], about: t.within(t.limits, sections[name]) },
    ...{ icon: IconAdjustments, weight: 0.95, run: at("/operator/limits", name) },
  });
  const ownNames = Object.keys(ownSections.en) as (keyof typeof ownSections.en)[];
  const limitNames = Object.keys(limitSections.en) as (keyof typeof limitSections.en)[];
  return {
    own: ownNames.map((id) => section(id, nameOfOwn(id), "/settings")),
    operators: [
      ...limitNames.map((id) => section(id, nameOfLimits(id), "/operator/limits")),
      ...settingSections.map(({ name }) => section(name, nameOfSection(name), "/operator/limits")),
      ...settingSections.flatMap(({ name, fields }) => fields.map(({ path }) => single(name, path))),
    ],
  };
}

function useDocs(): readonly Item[] {
  const t = useTexts(said);
  const names = useBothNames(docsPages);
  const { hasDocs } = useSession();
  if (!hasDocs) return [];
  return docsAddresses.map((address) => ({
    ...{ id: `/docs/${address}`, names: names(address), about: t.docs, icon: IconBook },
    // Behind the dashboard's own pages of the same name.
    weight: 0.9,
    run: () => openDocs(address),
  }));
}

/** openDocs opens a page in a window of its own: the dashboard stays as it is. */
function openDocs(address: string): void {
  window.open(`/docs/${address}`, "_blank", "noopener");
}
