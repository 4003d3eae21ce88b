import { ActionIcon, Tooltip, useMantineColorScheme } from '@mantine/core';
import { IconContrast, IconMoon, IconSun } from '@tabler/icons-react';

const ORDER = ['auto', 'light', 'dark'] as const;
const LOOKS = {
  auto: { label: 'System theme', icon: <IconContrast size={18} /> },
  light: { label: 'Light theme', icon: <IconSun size={18} /> },
  dark: { label: 'Dark theme', icon: <IconMoon size={18} /> },
};

/** Cycles through system, light and dark. */
export function SchemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { label, icon } = LOOKS[colorScheme];
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="md"
        aria-label={`${label}. Change theme`}
        onClick={() => setColorScheme(ORDER[(ORDER.indexOf(colorScheme) + 1) % ORDER.length] ?? 'auto')}
      >
        {icon}
      </ActionIcon>
    </Tooltip>
  );
}
