/** The logo: a lens, half in the light. */
export function Mark({ size = 28 }: { readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#c2410c" />
      <circle cx="16" cy="16" r="8.5" fill="none" stroke="#fff" strokeWidth="2.5" />
      <path d="M16 7.5a8.5 8.5 0 0 1 0 17z" fill="#fff" />
    </svg>
  );
}
