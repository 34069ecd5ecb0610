-- RTE's carbon intensity of France against its mix, by RTE's own factors in gCO2/kWh: coal 986, oil 777, gas 429, biomass
-- and waste 494. Pumped storage counts while it generates. Daily means are within 1 g; rounding explains 0.6 g at most.
-- Consolidated days have no wind in the mix: they are left out.
WITH factors(fuel, grams) AS (
    VALUES ('coal', 986), ('oil', 777), ('gas', 429), ('biomass', 494), ('waste', 494)
),
computed AS (
    SELECT zone, ts, resolution, sum(greatest(value, 0) * coalesce(grams, 0)) / sum(greatest(value, 0)) AS grams
    FROM mix LEFT JOIN factors USING (fuel)
    WHERE zone = 'FR' AND fuel <> 'battery'
    GROUP BY ALL
    HAVING bool_or(fuel LIKE 'wind%') AND sum(greatest(value, 0)) > 0
)
SELECT
    zone, timezone(tz, starts_at)::DATE AS day,
    format('{:.1f} gCO2/kWh, where the mix gives {:.1f}', avg(value), avg(grams)) AS detail
FROM carbon JOIN computed USING (zone, ts, resolution) JOIN zones USING (zone)
GROUP BY ALL
HAVING abs(avg(value) - avg(grams)) > 1
