import { Box, SegmentedControl, SimpleGrid, Text, UnstyledButton } from '@mantine/core';
import { useRef, type KeyboardEvent } from 'react';

interface ShapePickerProps {
  readonly sizes: readonly string[];
  readonly value: string;
  readonly onChange: (size: string) => void;
}

const BOX = 28;
const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** The sizes as what they look like; one group of choices that arrow keys move through. */
export function ShapePicker({ sizes, value, onChange }: ShapePickerProps) {
  const group = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const index = (sizes.indexOf(value) + step + sizes.length) % sizes.length;
    onChange(sizes[index] ?? value);
    group.current?.querySelectorAll<HTMLElement>('[role=radio]')[index]?.focus();
  };
  return (
    <Box>
      <Text size="sm" fw={600} mb={6} id="shape-label">
        Aspect ratio
      </Text>
      <SimpleGrid
        ref={group}
        cols={{ base: 5, xs: 7 }}
        spacing={6}
        verticalSpacing={6}
        role="radiogroup"
        aria-labelledby="shape-label"
        onKeyDown={move}
      >
        {sizes.map((size) => (
          <UnstyledButton
            key={size}
            className="shape"
            role="radio"
            aria-checked={size === value}
            tabIndex={size === value ? 0 : -1}
            onClick={() => onChange(size)}
          >
            <span className="shape-outline" style={outlineOf(size)} />
            {size}
          </UnstyledButton>
        ))}
      </SimpleGrid>
    </Box>
  );
}

function outlineOf(size: string) {
  const [width = 1, height = 1] = size.split(':').map(Number);
  if (Number.isNaN(width)) return { width: BOX - 4, height: BOX - 4, borderStyle: 'dashed', borderRadius: '50%' };
  const scale = BOX / Math.max(width, height);
  return { width: Math.round(width * scale), height: Math.round(height * scale) };
}

interface TierPickerProps {
  readonly tiers: readonly string[];
  readonly value: string;
  readonly onChange: (tier: string) => void;
}

export function TierPicker({ tiers, value, onChange }: TierPickerProps) {
  return (
    <Box>
      <Text size="sm" fw={600} mb={2} id="tier-label">
        Resolution
      </Text>
      <SegmentedControl
        fullWidth
        aria-labelledby="tier-label"
        data={tiers.map((tier) => ({ value: tier, label: tier.toUpperCase() }))}
        value={value}
        onChange={onChange}
      />
    </Box>
  );
}
