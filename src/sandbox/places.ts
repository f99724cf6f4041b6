/** Where the made-up hotels stand, and how hotels, towns and streets are called there, in the place's own script. */
export type Place = {
  countryCode: string
  airportCode: string
  latitude: number
  longitude: number
  names: readonly [string, ...string[]]
  cities: readonly [string, ...string[]]
  streets: readonly [string, ...string[]]
}

function place(
  [countryCode, airportCode, latitude, longitude]: [string, string, number, number],
  names: Place['names'],
  cities: Place['cities'],
  streets: Place['streets'],
): Place {
  return { countryCode, airportCode, latitude, longitude, names, cities, streets }
}

export const places: readonly [Place, ...Place[]] = [
  place(['DK', 'CPH', 55.676, 12.568], ['Hotel Øresund', 'Kyst & Kær'], ['København', 'Ærøskøbing'], ['Åboulevarden']),
  place(['DE', 'MUC', 48.137, 11.575], ['Gasthof zum Bären', 'Hotel Müßiggang'], ['München', 'Füssen'], ['Weißstraße']),
  place(['FR', 'CDG', 48.857, 2.352], ["L'Hôtel d'Été", 'Auberge du Cœur'], ['Paris', 'Orléans'], ["Rue de l'Église"]),
  place(['ES', 'MAD', 40.417, -3.703], ['Posada del Señor', 'Casa Ñandú'], ['Madrid', 'Logroño'], ['Calle del Niño']),
  place(['PL', 'WAW', 52.23, 21.011], ['Dwór Świętej', 'Hotel Żółw'], ['Łódź', 'Kraków'], ['ul. Źródlana']),
  place(['IS', 'KEF', 64.147, -21.943], ['Gistihús Þórs', 'Hótel Ísafold'], ['Reykjavík', 'Ísafjörður'], ['Æðarás']),
  place(['GR', 'ATH', 37.984, 23.728], ['Ξενοδοχείο Ήλιος', 'Το Αρχοντικό'], ['Αθήνα', 'Πειραιάς'], ['Οδός Ερμού']),
  place(['BG', 'SOF', 42.698, 23.322], ['Хотел Витоша', 'Къща Роза'], ['София', 'Пловдив'], ['ул. Шипка']),
  place(['UA', 'KBP', 50.45, 30.523], ['Готель Їжак', 'Садиба Ґанок'], ['Київ', 'Львів'], ['вул. Хрещатик']),
  place(['JP', 'HND', 35.676, 139.65], ['旅館さくら', 'ホテル海風'], ['東京', '鎌倉'], ['銀座通り']),
  place(['KR', 'ICN', 37.566, 126.978], ['한옥호텔', '바다여관'], ['서울', '부산'], ['세종대로']),
  place(['TH', 'BKK', 13.756, 100.502], ['โรงแรมดอกบัว', 'บ้านริมน้ำ'], ['กรุงเทพฯ', 'เชียงใหม่'], ['ถนนสุขุมวิท']),
  place(['EG', 'CAI', 30.044, 31.236], ['فندق النيل', 'دار السلام'], ['القاهرة', 'الإسكندرية'], ['شارع التحرير']),
  place(['IL', 'TLV', 32.085, 34.782], ['מלון הים', 'בית הגפן'], ['תל אביב', 'חיפה'], ['רחוב דיזנגוף']),
  place(['IN', 'DEL', 28.614, 77.209], ['होटल गंगा', 'कमल निवास'], ['दिल्ली', 'आगरा'], ['महात्मा गांधी मार्ग']),
  place(['GE', 'TBS', 41.715, 44.827], ['სასტუმრო მზე', 'ძველი სახლი'], ['თბილისი', 'ბათუმი'], ['რუსთაველის გამზირი']),
  place(['CN', 'PEK', 39.904, 116.407], ['明月酒店', '竹林客栈'], ['北京', '苏州'], ['长安街']),
  place(
    ['GB', 'LHR', 51.507, -0.128],
    ["St Mary's Inn", 'The “Old” Mill'],
    ['London', "King's Lynn"],
    ["Queen's Road"],
  ),
]
