import type { ReactNode } from 'react';

/** Drawn on a field of 24 by 24 with one width of line; hidden from screen readers, which read the label beside. */
function icon(content: ReactNode) {
  return function Icon({ size = 18 }: { readonly size?: number }) {
    return (
      <svg
        width={size}
        height={size}
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.75"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        focusable="false"
      >
        {content}
      </svg>
    );
  };
}

export const KeyIcon = icon(
  <>
    <circle cx="8" cy="15" r="4" />
    <path d="m11 12 8-8m-3 3 3 3m-6 0 2 2" />
  </>,
);
export const PlayIcon = icon(
  <>
    <rect x="3" y="4" width="18" height="16" rx="3" />
    <path d="m4 17 5-5 4 4 2.5-2.5L21 18" />
    <circle cx="15.5" cy="8.5" r="1.25" />
  </>,
);
export const TasksIcon = icon(<path d="M9 6h12M9 12h12M9 18h12M4 6h.01M4 12h.01M4 18h.01" />);
export const UsageIcon = icon(<path d="M4 20V10m5.5 10V4M15 20v-7m5 7V8" />);
export const ServerIcon = icon(
  <>
    <rect x="3" y="4" width="18" height="7" rx="2" />
    <rect x="3" y="13" width="18" height="7" rx="2" />
    <path d="M7 7.5h.01M7 16.5h.01" />
  </>,
);
export const HookIcon = icon(
  <path d="M9 8a4 4 0 1 1 5.7 3.6L17 16m-5-7-3.5 6M8 14.5A4 4 0 1 0 11 19h6m0-3a3 3 0 1 1-2.5 4.6" />,
);
export const AuditIcon = icon(<path d="M6 3h9l4 4v14H6zM15 3v4h4M9.5 12h6m-6 4h6m-6-8h2" />);
export const TeamIcon = icon(
  <>
    <circle cx="9" cy="8" r="3.5" />
    <path d="M2.5 20c.5-4 3-6 6.5-6s6 2 6.5 6M15.5 5a3.5 3.5 0 0 1 0 6.5m2 3c2.3.7 3.7 2.5 4 5.5" />
  </>,
);
export const AccountsIcon = icon(<path d="M4 21V6l8-3v18M12 9h8v12M2.5 21h19M7.5 8.5h1m-1 4h1m-1 4h1m7-3h1m-1 4h1" />);
export const PlusIcon = icon(<path d="M12 5v14M5 12h14" />);
export const DotsIcon = icon(<path d="M5 12h.01M12 12h.01M19 12h.01" strokeWidth="2.8" />);
export const CopyIcon = icon(
  <>
    <rect x="8" y="8" width="12" height="12" rx="2" />
    <path d="M16 8V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v8a2 2 0 0 0 2 2h2" />
  </>,
);
export const CheckIcon = icon(<path d="m5 12.5 4.5 4.5L19 7.5" />);
export const CrossIcon = icon(<path d="m6 6 12 12M18 6 6 18" />);
export const DownloadIcon = icon(<path d="M12 4v11m-4.5-4 4.5 4.5 4.5-4.5M4 20h16" />);
export const UploadIcon = icon(<path d="M12 16V5M7.5 9 12 4.5 16.5 9M4 20h16" />);
export const AgainIcon = icon(<path d="M20 12a8 8 0 1 1-2.5-5.8M20 4v5h-5" />);
export const BackIcon = icon(<path d="m14 6-6 6 6 6" />);
export const WarningIcon = icon(<path d="M12 4 2.5 20h19zM12 10v4m0 3h.01" />);
export const SignOutIcon = icon(<path d="M10 4H5v16h5M15 8l4 4-4 4m4-4H9" />);
export const SunIcon = icon(
  <>
    <circle cx="12" cy="12" r="4" />
    <path d="M12 2.5v2m0 15v2M2.5 12h2m15 0h2M5.3 5.3l1.4 1.4m10.6 10.6 1.4 1.4m0-13.4-1.4 1.4M6.7 17.3l-1.4 1.4" />
  </>,
);
export const MoonIcon = icon(<path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z" />);
export const ContrastIcon = icon(
  <>
    <circle cx="12" cy="12" r="8.5" />
    <path d="M12 3.5a8.5 8.5 0 0 1 0 17z" fill="currentColor" />
  </>,
);
export const BrushIcon = icon(
  <path d="M20 4 10 14m0 0a3.5 3.5 0 0 0-5 3c0 1.5-1 2.5-2 3 4 1 8-.5 8-3.5a3 3 0 0 0-1-2.5z" />,
);
export const EraserIcon = icon(<path d="m4 15 9-9a2 2 0 0 1 3 0l4 4a2 2 0 0 1 0 3l-7 7H8zM9 10l7 7m-3 3h8" />);
export const UndoIcon = icon(<path d="M8 5 4 9l4 4M4 9h10a5.5 5.5 0 0 1 0 11H8" />);
export const SearchIcon = icon(
  <>
    <circle cx="11" cy="11" r="6.5" />
    <path d="m16 16 4.5 4.5" />
  </>,
);

/** The sign of the product: a lens, half in the light. */
export function Mark({ size = 28 }: { readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#c2410c" />
      <circle cx="16" cy="16" r="8.5" fill="none" stroke="#fff" strokeWidth="2.5" />
      <path d="M16 7.5a8.5 8.5 0 0 1 0 17z" fill="#fff" />
    </svg>
  );
}
