import { ActionIcon, Button } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';

interface RemoveItemProps {
  /** What is removed. */
  readonly name: string;
  readonly disabled?: boolean;
  readonly onClick: () => void;
}

/** Takes one away from a list of inputs. */
export function RemoveItem({ name, disabled = false, onClick }: RemoveItemProps) {
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={`Remove ${name}`}
      disabled={disabled}
      onClick={onClick}
    >
      <IconTrash size={18} />
    </ActionIcon>
  );
}

/** Adds one to a list of inputs. */
export function AddItem({ children, onClick }: { readonly children: string; readonly onClick: () => void }) {
  return (
    <Button variant="subtle" size="xs" leftSection={<IconPlus size={14} />} onClick={onClick}>
      {children}
    </Button>
  );
}
