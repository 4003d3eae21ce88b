import { ActionIcon, Menu } from '@mantine/core';
import type { ReactNode } from 'react';
import { IconDots } from '@tabler/icons-react';
import { whileBusy } from './busy.tsx';

interface RowMenuProps {
  /** Name of the row's subject. */
  readonly of: string;
  readonly busy?: boolean;
  /** Items of a Menu. */
  readonly children: ReactNode;
}

/** The actions for one row of a table. */
export function RowMenu({ of, busy = false, children }: RowMenuProps) {
  return (
    <Menu position="bottom-end" withinPortal disabled={busy}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${of}`} {...whileBusy(busy)}>
          <IconDots size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
