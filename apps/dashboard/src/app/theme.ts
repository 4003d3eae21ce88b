import { createTheme, type MantineColorsTuple } from '@mantine/core';

/** The amber of a safelight, from the lightest to the darkest. */
const safelight: MantineColorsTuple = [
  '#fff4ed',
  '#ffe6d5',
  '#feccaa',
  '#fdaa75',
  '#fb8140',
  '#f2601c',
  '#d4470f',
  '#b23a0e',
  '#8f3013',
  '#742b13',
];

/** Almost neutral grays for dark pages, so that images keep their colors next to them. */
const dark: MantineColorsTuple = [
  '#d6d3d1',
  '#b8b4b0',
  '#9c9893',
  '#6f6b67',
  '#45423f',
  '#33302e',
  '#262422',
  '#1c1a19',
  '#151413',
  '#0f0e0d',
];

/** Warm neutrals for light pages: borders, hover, disabled. */
const gray: MantineColorsTuple = [
  '#faf9f8',
  '#f5f4f2',
  '#eae7e4',
  '#dfdbd7',
  '#cdc8c3',
  '#a8a29e',
  '#857e78',
  '#57534e',
  '#3b3734',
  '#1c1917',
];

/** Danger and failure: a rose that is easy to tell from the safelight. */
const red: MantineColorsTuple = [
  '#fff1f2',
  '#ffe0e4',
  '#fec8cf',
  '#fda4af',
  '#fb7185',
  '#f43f5e',
  '#e11d48',
  '#be123c',
  '#9f1239',
  '#881337',
];

export const theme = createTheme({
  primaryColor: 'safelight',
  primaryShade: { light: 7, dark: 7 },
  colors: { safelight, dark, gray, red },
  defaultRadius: 'md',
  respectReducedMotion: true,
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  headings: { fontWeight: '650', sizes: { h1: { fontSize: '1.625rem', lineHeight: '1.25' } } },
  cursorType: 'pointer',
  components: {
    Accordion: { styles: { label: { fontSize: '0.875rem', fontWeight: 600 } } },
    Badge: { defaultProps: { variant: 'light', radius: 'sm', tt: 'none', fw: 500 } },
    // It would add a child that the menu role does not allow.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Modal: {
      defaultProps: {
        closeButtonProps: { 'aria-label': 'Close' },
        // Without this, assistive technology takes it for the page's banner.
        attributes: { header: { role: 'presentation' } },
        padding: 'lg',
        centered: true,
        radius: 'lg',
        overlayProps: { backgroundOpacity: 0.45, blur: 2 },
      },
      styles: { title: { fontWeight: 650, fontSize: '1.1rem', lineHeight: 1.3, overflowWrap: 'anywhere' } },
    },
    // Menus and dropdowns render inside the main landmark, as all content must.
    Popover: { defaultProps: { portalProps: { target: '#main' } } },
    Notification: {
      defaultProps: { closeButtonProps: { 'aria-label': 'Dismiss message' } },
      styles: { description: { color: 'var(--mantine-color-text)' } },
    },
    Paper: { defaultProps: { radius: 'lg' } },
    Table: { defaultProps: { verticalSpacing: 'sm' } },
    TableScrollContainer: {
      defaultProps: { scrollAreaProps: { offsetScrollbars: false, viewportProps: { tabIndex: 0 } } },
    },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
  },
});
