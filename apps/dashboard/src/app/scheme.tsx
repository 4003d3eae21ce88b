import { ActionIcon, Tooltip, useMantineColorScheme } from '@mantine/core';
import { ContrastIcon, MoonIcon, SunIcon } from '../parts/icons.tsx';

const ORDER = ['auto', 'light', 'dark'] as const;
const LOOKS = {
  auto: { label: 'Colours follow the system', icon: <ContrastIcon /> },
  light: { label: 'Light colours', icon: <SunIcon /> },
  dark: { label: 'Dark colours', icon: <MoonIcon /> },
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
        aria-label={`${label}. Change colours`}
        onClick={() => {
          setColorScheme(ORDER[(ORDER.indexOf(colorScheme) + 1) % ORDER.length] ?? 'auto');
        }}
      >
        {icon}
      </ActionIcon>
    </Tooltip>
  );
}
