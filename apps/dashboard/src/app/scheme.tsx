import { ActionIcon, Tooltip, useMantineColorScheme } from '@mantine/core';
import { ContrastIcon, MoonIcon, SunIcon } from '../parts/icons.tsx';

const ORDER = ['auto', 'light', 'dark'] as const;
const LOOKS = {
  auto: { label: 'System theme', icon: <ContrastIcon /> },
  light: { label: 'Light theme', icon: <SunIcon /> },
  dark: { label: 'Dark theme', icon: <MoonIcon /> },
};

/** System, light, dark and round again. */
export function SchemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { label, icon } = LOOKS[colorScheme];
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={`${label}. Change theme`}
        onClick={() => {
          setColorScheme(ORDER[(ORDER.indexOf(colorScheme) + 1) % ORDER.length] ?? 'auto');
        }}
      >
        {icon}
      </ActionIcon>
    </Tooltip>
  );
}
