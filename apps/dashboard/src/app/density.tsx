import { ActionIcon, Tooltip } from '@mantine/core';
import { IconBaselineDensityMedium, IconBaselineDensitySmall } from '@tabler/icons-react';
import { useEffect } from 'react';
import { useCompactRows } from '../parts/density.ts';

/** Toggles compact rows in all lists. */
export function DensitySwitch() {
  const [compact, setCompact] = useCompactRows();
  useEffect(() => {
    document.documentElement.dataset['density'] = compact ? 'compact' : 'regular';
  }, [compact]);
  return (
    <Tooltip label={compact ? 'Regular rows' : 'Compact rows'}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="md"
        aria-label="Compact rows"
        aria-pressed={compact}
        onClick={() => setCompact(!compact)}
      >
        {compact ? <IconBaselineDensitySmall size={18} /> : <IconBaselineDensityMedium size={18} />}
      </ActionIcon>
    </Tooltip>
  );
}
