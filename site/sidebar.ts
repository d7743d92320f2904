/** The pages of the site, by who reads them. A test holds that every page of docs/ is here. */

export interface SitePage {
  readonly title: string;
  /** The file below the project; `api/…` is made from gen/openapi.json. */
  readonly source: string;
}

export interface SiteSection {
  readonly title: string;
  readonly pages: readonly SitePage[];
  /** isCollapsed is whether the section is closed until a reader opens it. */
  readonly isCollapsed?: boolean;
}

const page = (title: string, source: string): SitePage => ({ title, source });

export const sections: readonly SiteSection[] = [
  {
    title: "Start",
    pages: [
      page("Quick start: callers", "docs/quick-start/caller.md"),
      page("Quick start: operators", "docs/quick-start/operator.md"),
      page("Quick start: internal teams", "docs/quick-start/internal-team.md"),
      page("Getting started", "docs/getting-started.md"),
    ],
  },
  {
    title: "Call it",
    pages: [
      page("API", "docs/api.md"),
      page("Responses", "docs/responses.md"),
      page("Typed clients", "docs/typed-clients.md"),
      page("Agents and editors", "docs/clients.md"),
      page("Embedded models", "docs/embedded-models.md"),
      page("Embedded speech", "docs/embedded-speech.md"),
    ],
  },
  {
    title: "Run it",
    pages: [
      page("Installing", "docs/installing.md"),
      page("Configuration", "docs/configuration.md"),
      page("Changing it", "docs/changing-configuration.md"),
      page("Operating", "docs/operating.md"),
      page("The operator's pages", "docs/console.md"),
      page("Money", "docs/money.md"),
      page("Prices", "docs/prices.md"),
      page("Upstreams", "docs/upstreams.md"),
      page("Dialects", "docs/dialects.md"),
      page("Watching", "deploy/README.md"),
      page("Metrics", "docs/metrics.md"),
      page("Security", "docs/security.md"),
      page("Capacity", "docs/capacity.md"),
      page("Scaling", "docs/scaling.md"),
      page("Internet scale", "docs/internet-scale.md"),
      page("Back-up", "docs/backup.md"),
      page("Upgrading", "docs/upgrading.md"),
      page("Migrating", "docs/migrating.md"),
      page("Changelog", "CHANGELOG.md"),
    ],
  },
  {
    title: "How it is built",
    isCollapsed: true,
    pages: [
      page("Architecture", "docs/architecture.md"),
      page("Speed", "docs/speed.md"),
      page("Lab log", "docs/lab-log.md"),
      page("Contributing", "CONTRIBUTING.md"),
    ],
  },
];

/** elsewhere is where pages outside docs/ are on the site. The README is the site's front page. */
const elsewhere: Readonly<Record<string, string>> = {
  "README.md": "/",
  "CONTRIBUTING.md": "/contributing",
  "CHANGELOG.md": "/changelog",
  "deploy/README.md": "/watching",
};

/** Returns the address of a page below the site; undefined of a file that is no page of it. */
export function addressOf(source: string): string | undefined {
  if (Object.hasOwn(elsewhere, source)) return elsewhere[source];
  const name = /^docs\/(.+)\.md$/.exec(source)?.[1];
  return name === undefined ? undefined : `/${name}`;
}
