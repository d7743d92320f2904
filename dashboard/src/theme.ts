/** The dashboard's light and dark theme. Contrast meets WCAG 2.2 AA; tests check it. */
import { type CSSVariablesResolver, createTheme } from "@mantine/core";
import classes from "./theme.module.css";

export const theme = createTheme({
  primaryColor: "indigo",
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: "md",
  cursorType: "pointer",
  fontFamily:
    '"Inter Variable", system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans SC", "PingFang SC", "Microsoft YaHei", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace',
  headings: { fontWeight: "600" },
  respectReducedMotion: true,
  components: {
    Code: { classNames: { root: classes.code } },
    // Descriptions stand below their fields, so that fields beside one another are in one line.
    InputWrapper: {
      defaultProps: { inputWrapperOrder: ["label", "input", "description", "error"] },
      classNames: { label: classes.fieldLabel },
    },
    // The button that clears it stands in place of the arrow, not over what is chosen.
    Select: {
      defaultProps: { clearSectionMode: "clear" },
      classNames: { root: classes.choosing, input: classes.choice },
    },
    Table: { classNames: { thead: classes.head } },
    Button: { classNames: { root: classes.button, inner: classes.buttonInner, label: classes.buttonLabel } },
    SegmentedControl: { classNames: { root: classes.segments } },
    Badge: { classNames: { root: classes.badge, label: classes.badgeLabel } },
  },
});

/** variables replaces the library's grey for dimmed text, whose contrast is too low, and adds colours of this dashboard's own. */
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "var(--mantine-color-gray-7)",
    "--mantine-color-placeholder": "var(--mantine-color-gray-7)",
    "--mantine-color-error": "var(--mantine-color-red-9)",
    "--gateway-good": "#087f5b",
    "--gateway-border": "var(--mantine-color-gray-3)",
    "--gateway-track": "var(--mantine-color-gray-1)",
    "--gateway-raised": "var(--mantine-color-white)",
  },
  dark: {
    "--mantine-color-dimmed": "var(--mantine-color-gray-5)",
    "--mantine-color-placeholder": "var(--mantine-color-gray-5)",
    "--mantine-color-error": "var(--mantine-color-red-4)",
    "--gateway-good": "var(--mantine-color-teal-4)",
    "--gateway-border": "var(--mantine-color-dark-4)",
    "--gateway-track": "var(--mantine-color-dark-8)",
    "--gateway-raised": "var(--mantine-color-dark-5)",
  },
});
